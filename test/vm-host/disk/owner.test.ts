import { existsSync, readdirSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rename, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLog } from "@svc/host-kit/log.ts";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openRun } from "../../../vm-host/janitor.ts";
import { LayersInUse } from "../../../vm-host/disk/layers-in-use.ts";
import { RecordStore } from "../../../vm-host/records/store.ts";
import { VolumeFolders } from "../../../vm-host/volumes/folders.ts";

const DAY_MS = 24 * 60 * 60_000;
const PLACES = ["records", "volumes"];

let root = "";
beforeEach(async () => void (root = await mkdtemp(join(tmpdir(), "vmowner-"))));
afterEach(() => rm(root, { recursive: true }));

const cache = (): string => join(root, "cache");
const stateOf = (name: string): string => join(root, name);

/** What a start of a host opens; something of it is left in each place. */
async function start(name: string): Promise<void> {
  await mkdir(stateOf(name), { recursive: true });
  const store = await RecordStore.open({
    cacheDir: cache(),
    stateDir: stateOf(name),
    layersInUse: new LayersInUse(),
    onChange: () => {},
    log: createLog("test", "silent"),
  });
  const volumes = await VolumeFolders.open(cache(), stateOf(name));
  await writeFile(join(store.leftovers.folder, "left"), name);
  await writeFile(join(await volumes.makeFolder(name), "note"), name);
}

/** The folders in the cache that belong to a state folder, as it was called then. */
async function foldersOf(name: string): Promise<string[]> {
  const found: string[] = [];
  for (const place of PLACES)
    for (const folder of readdirSync(join(cache(), place))) {
      const owner = await readFile(join(cache(), place, folder, "owner.json"), "utf8");
      if (owner.includes(JSON.stringify(stateOf(name)))) found.push(join(place, folder));
    }
  return found;
}

test("what a host kept goes with its state folder, at the next start of any host", async () => {
  for (const name of ["gone", "stays"]) await start(name);
  expect(await foldersOf("gone")).toHaveLength(2);
  await rm(stateOf("gone"), { recursive: true });
  await start("third");
  expect(await foldersOf("gone")).toEqual([]);
  expect(await foldersOf("stays")).toHaveLength(2);
});

test("what belongs to a folder on a disk that is not mounted just now stays", async () => {
  await start("disk/state");
  await start("mount");
  const mounted = await foldersOf("mount");
  const within = await foldersOf("disk/state");
  // What a mount point looks like without its disk: as the state folder itself, and as a folder above it.
  await rm(stateOf("mount"), { recursive: true });
  await mkdir(stateOf("mount"));
  await rm(stateOf("disk"), { recursive: true });
  await start("third");
  expect(await foldersOf("mount")).toEqual(mounted);
  expect(await foldersOf("disk/state")).toEqual(within);
});

test("a host that starts again has what it had, also when its folder has become another inode", async () => {
  await start("kept");
  const before = await foldersOf("kept");
  // As after a copy to another disk, or a restart of the computer.
  await mkdir(stateOf("copy"));
  await writeFile(join(stateOf("copy"), "vm-host-id"), await readFile(idFile("kept")));
  await rm(stateOf("kept"), { recursive: true });
  await rename(stateOf("copy"), stateOf("kept"));
  await start("other");
  await start("kept");
  expect(await foldersOf("kept")).toEqual(before);
  const [records = ""] = before;
  expect(existsSync(join(cache(), records, "leftovers", "left"))).toBe(true);
});

test("a new folder at the path of an old one has nothing of it", async () => {
  await start("same");
  const before = await foldersOf("same");
  await rm(stateOf("same"), { recursive: true });
  await start("same");
  const after = await foldersOf("same");
  expect(after).toHaveLength(2);
  expect(after.filter((folder) => before.includes(folder))).toEqual([]);
});

test("what another container's host kept stays: its folder cannot be seen from here", async () => {
  await start("elsewhere");
  const folders = await foldersOf("elsewhere");
  for (const folder of folders) {
    const file = join(cache(), folder, "owner.json");
    const owner: object = JSON.parse(await readFile(file, "utf8"));
    await writeFile(file, JSON.stringify({ ...owner, pidNamespace: "pid:[1]" }));
  }
  await rm(stateOf("elsewhere"), { recursive: true });
  await start("here");
  expect(await foldersOf("elsewhere")).toEqual(folders);
});

test("what is nobody's is being made, and goes when that was a day ago", async () => {
  await start("first");
  const made = PLACES.map((place) => join(cache(), place, "half-made"));
  for (const folder of made) await mkdir(folder);
  await start("second");
  expect(made.map((folder) => existsSync(folder))).toEqual([true, true]);
  const then = (Date.now() - 2 * DAY_MS) / 1000;
  for (const folder of made) await utimes(folder, then, then);
  await start("second");
  expect(made.map((folder) => existsSync(folder))).toEqual([false, false]);
});

test("disks of a run that was killed in another container go when the same host starts again", async () => {
  await mkdir(stateOf("run"));
  const run = await openRun(stateOf("run"), cache());
  const file = join(run.disks, "owner.json");
  const owner: object = JSON.parse(await readFile(file, "utf8"));
  await writeFile(file, JSON.stringify({ ...owner, pidNamespace: "pid:[1]" }));
  await mkdir(stateOf("other"));
  const other = await openRun(stateOf("other"), cache());
  expect(existsSync(run.disks)).toBe(true);
  const again = await openRun(stateOf("run"), cache());
  expect(existsSync(run.disks)).toBe(false);
  for (const one of [other, again, run]) await one.close();
});

const idFile = (name: string): string => join(stateOf(name), "vm-host-id");
