import type { Transport } from "@svc/contract/control-channel/wire.ts";
import { spawn } from "node:child_process";
import { read, writeSync } from "node:fs";
import { type FileHandle, open, readFile, readdir, readlink } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

const CLASS = "/sys/class/virtio-ports";
/** The driver takes no more in one piece; of a longer one it leaves the rest. */
const PIECE_BYTES = 32 * 1024;
/** The driver gives no more at a time. */
const READ_BYTES = 4 * 1024;
const SMALL_BYTES = 4 * 1024;
const GATHER_BYTES = 256 * 1024;
const HIGH_BYTES = 512 * 1024;
/** A port whose host end is closed reads as ended at once: asking again too often costs a quarter of a CPU. */
const REOPEN_MS = 50;
const REOPEN_TRIES = 100;

/** What comes through a port: small messages that are waited for, or much. */
export type Load = "small" | "large";

/** A virtio-serial port of the machine. */
export class DevicePort implements Transport {
  readonly #file: FileHandle;
  readonly #load: Load;
  #queue: Uint8Array[] = [];
  #queued = 0;
  #isWriting = false;
  #waiters: (() => void)[] = [];

  private constructor(file: FileHandle, load: Load) {
    this.#file = file;
    this.#load = load;
  }

  /** Opens the port of that name; null when the machine has none. */
  static async open(name: string, load: Load): Promise<DevicePort | null> {
    for (const port of await readdir(CLASS).catch(() => [])) {
      const found = await readFile(join(CLASS, port, "name"), "utf8").catch(() => "");
      if (found.trim() === name) return new DevicePort(await openAlone(join("/dev", port)), load);
    }
    return null;
  }

  write(bytes: Uint8Array): void {
    // Another thread takes longer to be told of a small one than this takes.
    if (!this.#isWriting && bytes.length <= SMALL_BYTES) {
      this.#writeNow(bytes);
      return;
    }
    this.#queue.push(bytes);
    this.#queued += bytes.length;
    if (!this.#isWriting) void this.#drain();
  }

  whenWritable(): Promise<void> | null {
    if (this.#queued < HIGH_BYTES) return null;
    return new Promise((resolve) => this.#waiters.push(resolve));
  }

  /** Hands on what arrives, for ever. */
  read(onBytes: (bytes: Uint8Array) => void): void {
    if (this.#load === "small") this.#readPieces(onBytes);
    else void this.#readByChild(onBytes);
  }

  #writeNow(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length;) at += writeSync(this.#file.fd, bytes, at);
  }

  #readPieces(onBytes: (bytes: Uint8Array) => void): void {
    const piece = Buffer.allocUnsafe(READ_BYTES);
    const next = (): void =>
      read(this.#file.fd, piece, 0, READ_BYTES, null, (error, count) => {
        if (error || count === 0) setTimeout(next, REOPEN_MS);
        else {
          onBytes(new Uint8Array(piece.subarray(0, count)));
          next();
        }
      });
    next();
  }

  /** Pieces of 4 KiB cost Node three times what they cost `dd`, and the child gathers meanwhile. */
  async #readByChild(onBytes: (bytes: Uint8Array) => void): Promise<never> {
    for (;;) {
      const reader = spawn("dd", ["bs=64k"], { stdio: [this.#file.fd, "pipe", "ignore"] });
      for await (const chunk of reader.stdout ?? []) if (Buffer.isBuffer(chunk)) onBytes(chunk);
      await pause(REOPEN_MS);
    }
  }

  async #drain(): Promise<void> {
    this.#isWriting = true;
    while (this.#queue.length > 0) {
      const bytes = this.#take();
      for (let at = 0; at < bytes.length;) {
        const { bytesWritten } = await this.#file.writev(slices(bytes, at));
        at += bytesWritten;
      }
      this.#queued -= bytes.length;
      if (this.#queued < HIGH_BYTES / 2) this.#wake();
    }
    this.#isWriting = false;
  }

  /** Gathers what waits: every write is a turn through another thread. */
  #take(): Uint8Array {
    let count = 0;
    let size = 0;
    for (const piece of this.#queue) {
      if (count > 0 && size + piece.length > GATHER_BYTES) break;
      count += 1;
      size += piece.length;
    }
    const pieces = this.#queue.splice(0, count);
    const [only] = pieces;
    return only && count === 1 ? only : Buffer.concat(pieces, size);
  }

  #wake(): void {
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const wake of waiters) wake();
  }
}

/** A port is opened by one at a time. What holds it is what an agent that was killed has left. */
async function openAlone(path: string): Promise<FileHandle> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await open(path, "r+");
    } catch (error) {
      const isBusy = error instanceof Error && "code" in error && error.code === "EBUSY";
      if (!isBusy || tries === REOPEN_TRIES) throw error;
      await endHolders(path);
      await pause(REOPEN_MS);
    }
  }
}

async function endHolders(path: string): Promise<void> {
  for (const pid of await readdir("/proc")) {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) continue;
    const folder = join("/proc", pid, "fd");
    const fds = await readdir(folder).catch(() => []);
    const files = fds.map((fd) => readlink(join(folder, fd)).catch(() => ""));
    if ((await Promise.all(files)).includes(path)) killNow(Number(pid));
  }
}

function killNow(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended by itself.
  }
}

function slices(bytes: Uint8Array, from: number): Uint8Array[] {
  const list: Uint8Array[] = [];
  for (let at = from; at < bytes.length; at += PIECE_BYTES)
    list.push(bytes.subarray(at, at + PIECE_BYTES));
  return list;
}
