import { createHash } from "node:crypto";
import { mkdir, readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { zstdCompress } from "node:zlib";
import { isThere, replaceFile } from "../disk/files.ts";
import { type Entry, archiveOf } from "./cpio.ts";
import type { Image } from "./store.ts";

const INIT = new URL("init.sh", import.meta.url);
// A machine that is cloned or resumed under emulation begins with no translated code: what costs is how much different
// code runs, not how often. So the engine neither forgets what it has compiled nor compiles it once more to be faster. Nor
// does it tidy its memory while nothing is to be done: that would make pages a clone's own which it shares with others.
const ENGINE =
  "--no-flush-bytecode --no-lazy-feedback-allocation --no-sparkplug --no-memory-reducer";
/** Files that a process may have open, unless it lowers the number itself. The kernel's own 1,024 is few for servers. */
const OPEN_FILES = 65_536;
/** What the first program starts again and again. The agent itself ends what one before it left on its ports. */
const START = `#!/bin/sh
export UV_USE_IO_URING=0
ulimit -n ${OPEN_FILES}
exec /usr/local/bin/node ${ENGINE} /opt/svc/agent.mjs
`;
const FOLDERS = ["agent", "bin", "dev", "modules", "proc", "root", "sys"];

/** The archive that the kernel unpacks into memory at boot: the first program, its modules and the agent. */
export interface Initrd {
  hash: string;
  file: string;
}

/** Where an initrd lies. The cache calls the folder `layers`. */
export const initrdOf = (cacheDir: string, hash: string): Initrd => ({
  hash,
  file: join(initrdsIn(cacheDir), `${hash}.img`),
});

export const initrdsIn = (cacheDir: string): string => join(cacheDir, "layers");

/** Packs the initrd of an image; the same content is packed once. */
export async function makeInitrd(
  cacheDir: string,
  image: Image,
  agentDir: string,
): Promise<Initrd> {
  const archive = archiveOf(await entriesOf(image, agentDir));
  const hash = createHash("sha256").update(archive).digest("hex").slice(0, 16);
  const initrd = initrdOf(cacheDir, hash);
  if (await isThere(initrd.file)) return initrd;
  await mkdir(initrdsIn(cacheDir), { recursive: true, mode: 0o755 });
  await replaceFile(initrd.file, await promisify(zstdCompress)(archive), {
    draft: `${initrd.file}.${process.pid}.tmp`,
    mode: 0o644,
  });
  return initrd;
}

async function entriesOf(image: Image, agentDir: string): Promise<Entry[]> {
  const folders: Entry[] = FOLDERS.map((path) => ({ path, mode: 0o755, content: "folder" }));
  const modules = (await readdir(image.bootModules)).toSorted();
  const files = modules.map((name) => fileOf(`modules/${name}`, join(image.bootModules, name)));
  return [
    ...folders,
    { path: "init", mode: 0o755, content: await readFile(INIT) },
    { path: "bin/busybox", mode: 0o755, content: await readFile(image.busybox) },
    ...(await Promise.all(files)),
    { path: "agent/agent", mode: 0o755, content: Buffer.from(START) },
    ...(await agentEntries(agentDir)),
  ];
}

// Every file may be run: what is a program and what is not is the agent's own affair.
async function fileOf(path: string, source: string): Promise<Entry> {
  return { path, mode: 0o755, content: await readFile(source) };
}

async function agentEntries(agentDir: string): Promise<Entry[]> {
  const found = await readdir(agentDir, { recursive: true, withFileTypes: true });
  const entries = found.map(async (one): Promise<Entry> => {
    const source = join(one.parentPath, one.name);
    const path = join("agent", source.slice(agentDir.length + 1));
    return one.isDirectory() ? { path, mode: 0o755, content: "folder" } : fileOf(path, source);
  });
  const all = await Promise.all(entries);
  // A folder's path is shorter than those in it, so it sorts before them.
  return all.toSorted((left, right) => (left.path < right.path ? -1 : 1));
}
