import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { homeOf } from "../wire/layout.ts";
import type { Fitness } from "./fitness.ts";
import { inCgroups } from "@svc/host-kit/cgroups.ts";
import { NAMESPACES, OWN, STATUS, asUser, systemFolders } from "./sandbox.ts";

const PROJECT = fileURLToPath(new URL("../..", import.meta.url));
const MAIN = join(PROJECT, "browser-pool/playwright/main.ts");
/** After the pipes of a sandboxed process. */
const CHANNEL_FD = 6;
/** What of this project it may read: no state folder, which is in it by default. */
const CODE = ["node_modules", "browser-pool", "contract", "host-kit"].map((name) =>
  join(PROJECT, name),
);

export interface PlaywrightOptions {
  fitness: Fitness;
  /** The folder it shares with the pool. */
  root: string;
  version: string;
  cgroups: string[];
}

/** The command that runs Playwright: no network, no file but code and what it shares, no privilege. */
export async function playwrightCommand(options: PlaywrightOptions): Promise<string[]> {
  const { fitness, root, version, cgroups } = options;
  const { bwrap, setpriv } = fitness.programs;
  const uid = fitness.playwrightUid;
  const node = [process.execPath, ...permissions(root), MAIN, root, version];
  const home = homeOf(root, version);
  const view = [...(await systemFolders()), ...OWN, ...code(), ...open(root), "--bind", root, root];
  const inside = [...STATUS, ...view, "--chdir", home, ...environment(home)];
  if (uid !== null && setpriv !== null) {
    // Root makes the view, since a user may not reach this project at all, and is gone before anything runs.
    const command = [bwrap, ...NAMESPACES, ...inside, "--", ...asUser(setpriv, uid), ...node];
    return inCgroups(cgroups, command);
  }
  const alias = process.getuid?.() === 0 ? ["--uid", "1000", "--gid", "1000"] : [];
  return [bwrap, "--unshare-user", ...NAMESPACES, ...inside, ...alias, "--", ...node];
}

function code(): string[] {
  const folders = [...CODE, dirname(process.execPath)];
  return folders.flatMap((folder) => [...open(folder), "--ro-bind-try", folder, folder]);
}

// The folders above one that is shown: made by the way they would be open to root alone.
function open(folder: string): string[] {
  const above = dirname(folder);
  if (above === folder) return [];
  return [...open(above), ...(above === "/" ? [] : ["--perms", "0755", "--dir", above])];
}

// Of the pool's environment nothing: it holds the host token.
function environment(home: string): string[] {
  const variables = {
    PATH: "/usr/bin:/bin",
    HOME: home,
    NODE_CHANNEL_FD: String(CHANNEL_FD),
    TMPDIR: home,
    // Every endpoint it opens is written down: by default in the user's cache.
    PWTEST_SERVER_REGISTRY: join(home, "registry"),
    // A client that asks for the recorder would open a window on this machine.
    PW_CODEGEN_NO_INSPECTOR: "1",
  };
  const set = Object.entries(variables).flatMap(([name, value]) => ["--setenv", name, value]);
  return ["--clearenv", ...set];
}

// What it may read is what the view shows: Playwright looks at places of the system as it is loaded.
function permissions(root: string): string[] {
  return ["--permission", "--allow-fs-read=*", `--allow-fs-write=${join(root, "*")}`];
}
