import { createHash } from "node:crypto";
import { mkdir, readFile, readdir, rm, symlink } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { run } from "../programs.ts";
import type { NpmRelease } from "./recipe.ts";

/** Of what npm brings: nobody reads it in a machine. */
const UNUSED = ["docs", "man"];

const FETCH_MS = 3 * 60_000;
const SETTINGS = /^(PATH|NODE_EXTRA_CA_CERTS|npm_config_.*|(https?|no)_proxy)$/i;

/** Fetches the archive of npm into a new folder, from the registry that this user's npm asks. */
export async function fetchNpm(
  { version, integrity }: NpmRelease,
  folder: string,
): Promise<string> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const env = { HOME: homedir(), ...ownSettings() };
  const args = ["pack", `npm@${version}`, "--silent"];
  await run("npm", args, { cwd: folder, env, timeoutMs: FETCH_MS });
  const [name = ""] = await readdir(folder);
  const file = join(folder, name);
  const found = `sha512-${createHash("sha512")
    .update(await readFile(file))
    .digest("base64")}`;
  if (found !== integrity)
    throw new Error(`The registry's npm ${version} is not the one that is known: ${found}.`);
  return file;
}

/** What this user's npm needs to reach its registry. */
function ownSettings(): Record<string, string> {
  const found = Object.entries(process.env).filter(([name]) => SETTINGS.test(name));
  return Object.fromEntries(found.map(([name, value = ""]) => [name, value]));
}

/** Unpacks npm to where its Node looks for it. */
export async function installNpm(archive: string, root: string): Promise<void> {
  const folder = join(root, "usr/local/lib/node_modules/npm");
  await mkdir(folder, { recursive: true });
  const without = UNUSED.map((name) => `--exclude=package/${name}`);
  const owner = ["--no-same-owner", "--strip-components=1"];
  await run("tar", ["-xzf", archive, "-C", folder, ...owner, ...without]);
  for (const name of ["npm", "npx"])
    await symlink(`../lib/node_modules/npm/bin/${name}-cli.js`, join(root, "usr/local/bin", name));
}
