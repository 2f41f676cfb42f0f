import { constants, openSync, readSync } from "node:fs";
import { Socket } from "node:net";
import type { OutputChannel, OutputLog } from "./output-log.ts";

const CHUNK_BYTES = 64 * 1024;
const READ = constants.O_RDONLY | constants.O_NONBLOCK;

/** The reading end of the pipe behind a path. */
export function openPipe(path: string): Socket {
  return new Socket({ fd: openSync(path, READ), readable: true, writable: false });
}

/** Reads one pipe of a process into its log, no faster than the log has room. */
export class PipeReader {
  readonly #fd: number;
  readonly #socket: Socket;
  readonly #channel: OutputChannel;
  #log: OutputLog;
  #isAtEnd = false;

  /** `fd` is not blocking, and is the socket's. */
  constructor(fd: number, socket: Socket, channel: OutputChannel, log: OutputLog) {
    this.#channel = channel;
    this.#log = log;
    this.#fd = fd;
    this.#socket = socket;
    this.#socket.on("data", (bytes: Buffer) => this.#take(bytes));
    this.#socket.once("error", () => (this.#isAtEnd = true));
    this.#socket.once("close", () => (this.#isAtEnd = true));
    this.#socket.once("end", () => (this.#isAtEnd = true));
  }

  /** Reads the pipe behind a path. */
  static open(path: string, channel: OutputChannel, log: OutputLog): PipeReader {
    const fd = openSync(path, READ);
    return new PipeReader(fd, new Socket({ fd, readable: true, writable: false }), channel, log);
  }

  /** Another log takes what comes from now on. */
  pour(log: OutputLog): void {
    this.#log = log;
  }

  /** Takes at once what is in the pipe, one pipe full at most, whether or not the log has room. */
  drain(): void {
    // What was read while the pipe waits goes to the listener.
    this.#socket.read();
    for (let left = CHUNK_BYTES; left > 0 && !this.#isAtEnd;) {
      const bytes = this.#readPipe();
      if (!bytes) return;
      this.#log.append(this.#channel, bytes);
      left -= bytes.length;
    }
  }

  /**
   * The process has ended: takes what it has left in the pipe and no more. A child in the background may hold the
   * pipe for long; what that writes later is read and dropped, so that writing does not kill it.
   */
  async finish(): Promise<void> {
    this.#socket.removeAllListeners("data");
    this.#socket.pause();
    // One pipe full at most: the child may be writing at this moment.
    for (let left = CHUNK_BYTES; left > 0;) {
      while (this.#log.isFull) await this.#log.changed();
      const bytes = this.#readNow();
      if (!bytes) break;
      this.#log.append(this.#channel, bytes);
      left -= bytes.length;
    }
    this.#socket.resume();
  }

  #take(bytes: Buffer): void {
    this.#log.append(this.#channel, bytes);
    if (this.#log.isFull) void this.#pause();
  }

  async #pause(): Promise<void> {
    this.#socket.pause();
    while (this.#log.isFull) await this.#log.changed();
    if (this.#socket.listenerCount("data") > 0) this.#socket.resume();
  }

  #readNow(): Buffer | null {
    const buffered: unknown = this.#socket.read();
    if (Buffer.isBuffer(buffered)) return buffered;
    return this.#readPipe();
  }

  #readPipe(): Buffer | null {
    if (this.#isAtEnd || this.#socket.destroyed) return null;
    const bytes = Buffer.alloc(CHUNK_BYTES);
    try {
      const count = readSync(this.#fd, bytes);
      return count > 0 ? bytes.subarray(0, count) : null;
    } catch {
      // Empty: somebody else holds the other end.
      return null;
    }
  }
}

/** The writing end of a process's stdin. */
export class PipeWriter {
  readonly #socket: Socket;

  constructor(socket: Socket) {
    this.#socket = socket;
    // A program may end without reading its input.
    this.#socket.on("error", () => {});
  }

  static open(path: string): PipeWriter {
    const fd = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
    return new PipeWriter(new Socket({ fd, readable: false, writable: true }));
  }

  /** Resolves when the process has taken it, or never will. */
  write(bytes: Uint8Array): Promise<void> {
    return new Promise((resolve) => {
      if (this.#socket.writable) this.#socket.write(bytes, () => resolve());
      else resolve();
    });
  }

  end(): void {
    this.#socket.end();
  }

  close(): void {
    this.#socket.destroy();
  }
}
