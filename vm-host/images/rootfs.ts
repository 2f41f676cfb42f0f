import { chmod, copyFile, glob, mkdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { run } from "../programs.ts";
import { readArchive } from "./apt.ts";
import { guestNode } from "./guest-node.ts";
import { type Kernel, installModules } from "./kernel.ts";
import { fetchNpm, installNpm } from "./npm.ts";
import type { Recipe } from "./recipe.ts";

/** Part of the work done, 0 to 1. */
export type OnProgress = (done: number) => void;

const FILES: Record<string, string> = {
  "etc/hostname": "sandbox\n",
  "etc/hosts": "127.0.0.1 localhost sandbox\n",
  // The resolver of QEMU's user network.
  "etc/resolv.conf": "nameserver 10.0.2.3\n",
  // Empty: every machine gets its own from the agent.
  "etc/machine-id": "",
  // The agent is the one process that must come back.
  "etc/inittab": "::respawn:/opt/svc/agent\n",
};
const FOLDERS = ["opt/svc", "workspace"];
// The real number shows only after the minimal system is in place.
const FEWEST_PACKAGES = 200;

/** Everything it starts dies with this process, lets machines go first, and nobody else sees what it mounts. */
const ALONE = [
  ["setpriv", "--pdeathsig=KILL", "--"],
  ["nice", "-n", "10"],
  ["unshare", "--mount-proc", "--pid", "--fork", "--kill-child=KILL", "--"],
].flat();

/** Installs a whole system into `folder`, which must not exist. Needs root. */
export async function makeRootfs(
  recipe: Recipe,
  kernel: Kernel,
  folder: string,
  onProgress: OnProgress,
): Promise<void> {
  const root = `${folder}.tmp`;
  await run("rm", ["-rf", "--one-file-system", root]);
  const npm = await fetchNpm(recipe.npm, `${folder}.npm.tmp`);
  await bootstrap(recipe, root, (done) => onProgress(done * 0.8));
  for (const pattern of recipe.removals)
    for await (const path of glob(join(root, pattern))) await rm(path, { recursive: true });
  await copyFile(guestNode(), join(root, "usr/local/bin/node"));
  await chmod(join(root, "usr/local/bin/node"), 0o755);
  await installNpm(npm, root);
  await rm(dirname(npm), { recursive: true });
  await furnish(recipe, root);
  await installModules(kernel, recipe.modules, root);
  onProgress(0.85);
  await run("chroot", [root, "env", "HOME=/root", "python3", "-c", recipe.warmUp]);
  onProgress(1);
  await rename(root, folder);
}

async function furnish({ files, links }: Recipe, root: string): Promise<void> {
  for (const path of FOLDERS) await mkdir(join(root, path), { recursive: true });
  for (const [path, text] of Object.entries({ ...FILES, ...files })) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
  for (const [path, target] of Object.entries(links)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await symlink(target, join(root, path));
  }
}

/** The versions of everything in a root file system, one `name version` a line. */
export function packagesOf(root: string): Promise<string> {
  return run("chroot", [root, "dpkg-query", "-W", "-f", "${Package} ${Version}\n"]);
}

async function bootstrap(recipe: Recipe, root: string, onProgress: OnProgress): Promise<void> {
  const { suite, sources, settings } = await readArchive();
  const options = [
    "--variant=minbase",
    "--mode=root",
    "--verbose",
    "--skip=output/dev",
    `--include=${recipe.packages.join(",")}`,
    ...['APT::Install-Recommends "false"', ...settings].map((line) => `--aptopt=${line}`),
    ...recipe.excludes.map((path) => `--dpkgopt=path-exclude=${path}`),
    "--dpkgopt=path-include=/usr/share/doc/*/copyright",
    // The folder is thrown away when this breaks off: no need to wait for the disk at every file.
    "--dpkgopt=force-unsafe-io",
  ];
  const count = countSteps(onProgress);
  const [file = "", ...before] = ALONE;
  const args = [...before, "mmdebstrap", ...options, suite, root, ...sources];
  await run(file, args, { onLine: count });
}

// A package is fetched, unpacked and set up: three lines of apt each.
function countSteps(onProgress: OnProgress): (line: string) => void {
  let packages = FEWEST_PACKAGES;
  let steps = 0;
  return (line) => {
    packages = Math.max(packages, Number(/(\d+) newly installed/.exec(line)?.[1] ?? 0));
    if (/^(Get:\d+ .* \[[\d.,]+ \w+\]$|Unpacking |Setting up )/.test(line)) steps += 1;
    onProgress(Math.min(1, steps / (3 * packages)));
  };
}
