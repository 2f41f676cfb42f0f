import { HOST_METHODS } from "@svc/contract/control-channel/host-methods.ts";
import { refuse } from "@svc/contract/control-channel/refusals.ts";
import type { Method } from "@svc/contract/control-channel/rpc-server.ts";
import { execFile } from "node:child_process";
import { constants } from "node:fs";
import { access, mkdir, mkdtemp, open, readFile, readdir, rmdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { method } from "@svc/contract/control-channel/method.ts";

const DISKS = "/sys/block";
const DISK_MS = 30_000;
const LOOK_MS = 20;
/** Its tables of inodes stay as they are, empty, on the host's disk too. */
const OPTIONS = "noatime,noinit_itable";
// The session's environment is the customer's: these are started without it.
const ENV = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C" };
const run = (file: string, ...args: string[]) => promisify(execFile)(file, args, { env: ENV });

/** The namespace `volumes`, for the host alone. */
export function volumeMethods(): Record<string, Method> {
  return {
    "volumes.mount": method(HOST_METHODS["volumes.mount"], mount),
    "volumes.unmount": method(HOST_METHODS["volumes.unmount"], unmount),
    "volumes.flush": method(HOST_METHODS["volumes.flush"], flush),
    "volumes.freeze": method(HOST_METHODS["volumes.freeze"], freeze),
    "volumes.thaw": method(HOST_METHODS["volumes.thaw"], async ({ serial }) => thaw(serial)),
  };
}

async function mount({ serial, path }: { serial: string; path: string }) {
  const disk = await waitForDisk(serial);
  await mkdir(path, { recursive: true });
  await run("mount", "-t", "ext4", "-o", OPTIONS, disk, path);
  // A new file system has it; a volume begins empty.
  await rmdir(join(path, "lost+found")).catch(() => {});
  return {};
}

interface Unmount {
  serial: string;
  path: string;
  isLazy: boolean;
}

async function unmount({ serial, path, isLazy }: Unmount): Promise<{ isFree: boolean }> {
  const disk = await findDisk(serial);
  if (disk === null) return { isFree: true };
  await run("umount", ...(isLazy ? ["-l"] : []), path).catch(() => null);
  const isFree = (await mountsOf(disk)).length === 0;
  if (!isFree) await run("sync", "-f", path).catch(() => null);
  return { isFree };
}

async function flush({ serial }: { serial: string }) {
  const disk = await findDisk(serial);
  if (disk !== null) await reach(disk, "sync", "-f");
  return {};
}

/** Timers of those that nobody thaws. */
const frozen = new Map<string, NodeJS.Timeout>();

async function freeze({ serial, limitMs }: { serial: string; limitMs: number }) {
  const disk = await findDisk(serial);
  if (disk === null || !(await reach(disk, "fsfreeze", "--freeze"))) return {};
  frozen.set(
    serial,
    setTimeout(() => void thaw(serial), limitMs),
  );
  return {};
}

async function thaw(serial: string) {
  clearTimeout(frozen.get(serial));
  const disk = frozen.delete(serial) ? await findDisk(serial) : null;
  if (disk !== null) await thawDisk(disk).catch((error: unknown) => console.error(error));
  return {};
}

async function thawDisk(disk: string): Promise<void> {
  if (await reach(disk, "fsfreeze", "--unfreeze")) return;
  // Its customer has unmounted it meanwhile: it stands still all the same, and whoever mounts it again with it.
  const place = await mkdtemp("/run/svc/thaw-");
  await run("mount", "-t", "ext4", "-o", OPTIONS, disk, place);
  await run("fsfreeze", "--unfreeze", place).finally(() => run("umount", place));
  await rmdir(place);
}

/**
 * Runs a program that flushes, freezes or thaws a disk, wherever the disk is mounted now. The customer can change a path at
 * any moment, so the path is opened and checked first. False when the disk is not mounted.
 */
async function reach(disk: string, program: string, how: string): Promise<boolean> {
  const { rdev } = await stat(disk);
  for (const path of await mountsOf(disk)) {
    await using folder = await open(path, constants.O_RDONLY | constants.O_DIRECTORY);
    if ((await folder.stat()).dev !== rdev) continue;
    await run(program, how, `/proc/${process.pid}/fd/${folder.fd}`);
    return true;
  }
  return false;
}

async function waitForDisk(serial: string): Promise<string> {
  const until = performance.now() + DISK_MS;
  for (;;) {
    const disk = await findDisk(serial);
    if (disk !== null) return disk;
    if (performance.now() > until) throw refuse("NotFound", "The disk did not appear.");
    await pause(LOOK_MS);
  }
}

/** `/dev/vdb`; null while there is no such disk. */
async function findDisk(serial: string): Promise<string | null> {
  for (const name of await readdir(DISKS)) {
    const text = await readFile(join(DISKS, name, "serial"), "utf8").catch(() => "");
    const disk = `/dev/${name}`;
    // The kernel says what it is before there is a way to open it.
    if (text.trim() === serial && (await isThere(disk))) return disk;
  }
  return null;
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

/** Where a disk is mounted. */
async function mountsOf(disk: string): Promise<string[]> {
  const lines = (await readFile("/proc/mounts", "utf8")).split("\n");
  const fields = lines.map((line) => line.split(" ")).filter(([device]) => device === disk);
  return fields.map(([, path = ""]) =>
    path.replaceAll(/\\(\d{3})/g, (_all, octal: string) =>
      String.fromCharCode(Number.parseInt(octal, 8)),
    ),
  );
}
