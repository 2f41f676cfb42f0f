import { randomUUID } from "node:crypto";
import { link, readFile, readdir, readlink, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import * as z from "zod";
import { isThere } from "./files.ts";

export const OWNER_FILE = "owner.json";
/** Lies in a state folder and names it: numbers of devices and inodes are others after a restart of the computer. */
const ID_FILE = "vm-host-id";
/** What nobody owns is being made, or its maker was killed. */
const UNOWNED_MS = 24 * 60 * 60_000;

/** Whose a folder in the cache is: that of one state folder. */
const Owner = z.object({ state: z.string(), id: z.string().min(1), pidNamespace: z.string() });
type Owner = z.infer<typeof Owner>;

export async function ownerOf(stateDir: string): Promise<Owner> {
  const state = resolve(stateDir);
  return { state, id: await idOf(state), pidNamespace: await pidNamespace() };
}

/** Names a state folder for as long as it is there. */
export async function idOf(state: string): Promise<string> {
  const file = join(state, ID_FILE);
  const draft = `${file}.${process.pid}`;
  await writeFile(draft, randomUUID(), { mode: 0o600 });
  // The first id stays, whoever wrote it.
  await link(draft, file).catch((error: unknown) => {
    if (codeOf(error) !== "EEXIST") throw error;
  });
  await rm(draft);
  return readFile(file, "utf8");
}

const pidNamespace = (): Promise<string> => readlink("/proc/self/ns/pid").catch(() => "");

/**
 * Removes folders that belong to state folders that are gone, and folders that never had an owner. A state folder of another
 * container cannot be judged from here.
 */
export async function removeOrphans(all: string, mine: string, now = Date.now()): Promise<void> {
  for (const name of await readdir(all)) {
    const folder = join(all, name);
    const owner = await readOwner(join(folder, OWNER_FILE));
    const isOrphan = owner
      ? owner.pidNamespace === mine && (await isGone(owner))
      : await isOld(folder, now);
    if (isOrphan) await rm(folder, { recursive: true, force: true });
  }
}

/** False for a state folder that cannot be read or has no parent: its disk may not be mounted just now. */
async function isGone({ state, id }: Owner): Promise<boolean> {
  try {
    return (await readFile(join(state, ID_FILE), "utf8")) !== id;
  } catch (error) {
    if (codeOf(error) !== "ENOENT") return false;
    return !(await isThere(state)) && (await isThere(dirname(state)));
  }
}

const isOld = (folder: string, now: number): Promise<boolean> =>
  stat(folder).then(
    ({ mtimeMs }) => now - mtimeMs > UNOWNED_MS,
    () => false,
  );

async function readOwner(file: string): Promise<Owner | null> {
  try {
    return Owner.parse(JSON.parse(await readFile(file, "utf8")));
  } catch {
    return null;
  }
}

const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error ? String(error.code) : "";
