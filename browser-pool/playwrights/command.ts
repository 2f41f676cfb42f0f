import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Fitness } from "../launch/fitness.ts";
import { inCgroups } from "@svc/host-kit/cgroups.ts";
import { NAMESPACES, OWN, STATUS, asUser, systemFolders } from "../launch/sandbox.ts";
import type { BuildName } from "./builds.ts";

const PROJECT = fileURLToPath(new URL("../..", import.meta.url));
const MAIN = join(PROJECT, "browser-pool/playwright-process/main.ts");
/** After the pipes of a sandboxed process. */
const CHANNEL_FD = 6;
/** Where Debian's links to the libraries of ffmpeg lead. */
const LINKS = "/etc/alternatives";
/** Where Playwright writes down every endpoint it opens: in memory, so that a full disk keeps no client out. */
const REGISTRY = "/registry";
const REGISTRY_BYTES = 1024 * 1024;
/** The folders of this project that a Playwright may read: not the state folder, which lies in the project by default. */
const CODE = ["node_modules", "browser-pool", "contract", "host-kit"].map((name) =>
  join(PROJECT, name),
);

export interface PlaywrightOptions {
  fitness: Fitness;
  /** The folder that pool and Playwright share. */
  root: string;
  /** Its own folder in there. */
  home: string;
  build: BuildName;
  cgroups: string[];
}

/** The command that runs a Playwright: without network and privilege, and with no files but code and the shared folder. */
export async function playwrightCommand(options: PlaywrightOptions): Promise<string[]> {
  const { fitness, root, home, build, cgroups } = options;
  const { bwrap, setpriv } = fitness.programs;
  const uid = fitness.playwrightUid;
  const node = [process.execPath, ...permissions(root), MAIN, home, build];
  const system = [...(await systemFolders()), ...readable(LINKS), ...OWN];
  const view = [...system, ...code(), ...open(root), "--bind", root, root, ...registry()];
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
  return [...CODE, dirname(process.execPath)].flatMap(readable);
}

function readable(folder: string): string[] {
  return [...open(folder), "--ro-bind-try", folder, folder];
}

// Folders above a visible folder: bwrap would make them for root alone.
function open(folder: string): string[] {
  const above = dirname(folder);
  if (above === folder) return [];
  return [...open(above), ...(above === "/" ? [] : ["--perms", "0755", "--dir", above])];
}

// Root mounts it, another user writes there.
function registry(): string[] {
  return ["--perms", "1777", "--size", String(REGISTRY_BYTES), "--tmpfs", REGISTRY];
}

// No variable of the pool: its environment holds the host token.
function environment(home: string): string[] {
  const variables = {
    PATH: "/usr/bin:/bin",
    HOME: home,
    NODE_CHANNEL_FD: String(CHANNEL_FD),
    TMPDIR: home,
    // By default in the user's cache.
    PWTEST_SERVER_REGISTRY: REGISTRY,
    // A client that asks for the recorder would open a window on this machine.
    PW_CODEGEN_NO_INSPECTOR: "1",
  };
  const set = Object.entries(variables).flatMap(([name, value]) => ["--setenv", name, value]);
  return ["--clearenv", ...set];
}

// Reads are limited by the view of bwrap: Playwright looks at places of the system as it is loaded. Programs are limited
// to ffmpeg by the process itself (playwright-process/programs.ts).
function permissions(root: string): string[] {
  const written = [root, REGISTRY].map((folder) => `--allow-fs-write=${join(folder, "*")}`);
  const files = ["--allow-fs-read=*", ...written];
  return ["--permission", ...files, "--allow-child-process"];
}
