import { mkdir, mkdtemp, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { clearGroups, groupsOf } from "@svc/host-kit/cgroups.ts";
import {
  type LeftOver,
  claimFolder,
  leftOversIn,
  removeFolder,
  thisProcess,
} from "@svc/host-kit/run-folders.ts";

/** How the folder of a run begins, in the folder for temporary files; its cgroups have its whole name. */
export const RUN_PREFIX = "svc-pool-";

/** Folders and cgroups of one run of the pool, until the run is closed. */
export interface Run {
  name: string;
  /** Not in the state folder: the path of a unix socket may have 107 bytes only. */
  folder: string;
  close(): Promise<void>;
}

/** Removes what killed runs have left, and opens a run. */
export async function openRun(stateDir: string): Promise<Run> {
  const state = stateOf(stateDir);
  await mkdir(state, { recursive: true });
  const { dev, ino } = await stat(state);
  const self = await thisProcess(`${dev}:${ino}`);
  for (const leftOver of await leftOversIn(tmpdir(), RUN_PREFIX, self)) await removeRun(leftOver);
  const folder = await mkdtemp(join(tmpdir(), RUN_PREFIX));
  const owner = { ...self, cgroups: await groupsOf(basename(folder)) };
  await claimFolder(folder, owner);
  return { name: basename(folder), folder, close: () => removeRun({ folder, owner }) };
}

/** The pool's own part of a state folder. */
export const stateOf = (stateDir: string): string => join(stateDir, "pool");

async function removeRun({ folder, owner }: LeftOver): Promise<void> {
  const name = basename(folder);
  const noted = owner.cgroups.filter((group) => basename(group) === name);
  await clearGroups([...new Set([...noted, ...(await groupsOf(name))])]);
  await removeFolder(folder);
}
