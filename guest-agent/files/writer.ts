import type { FileHandle } from "node:fs/promises";

/** Bytes that may wait for the disk while more arrives. */
const WAITING_BYTES = 512 * 1024;

/** Writes to a file what has gathered since the last write: each is a turn through another thread. */
export class Writer {
  readonly #file: FileHandle;
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  #written = 0;
  #writing: Promise<void> | null = null;

  constructor(file: FileHandle) {
    this.#file = file;
  }

  /** Bytes that are in the file. */
  get written(): number {
    return this.#written;
  }

  /** Resolves when there is room for more. Rejects when a write has failed. */
  async add(bytes: Uint8Array): Promise<void> {
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
    this.#begin();
    if (this.#waitingBytes >= WAITING_BYTES) await this.#writing;
  }

  /** Resolves with the number of bytes when all are in the file. */
  async finish(): Promise<number> {
    await this.#writing;
    return this.#written;
  }

  /** Resolves when nothing is being written any more, whether it went well or not. */
  async settled(): Promise<void> {
    await this.#writing?.catch(() => {});
  }

  #begin(): void {
    if (this.#writing) return;
    this.#writing = this.#write();
    // Told to whoever waits next: there is somebody in the end.
    this.#writing.catch(() => {});
  }

  async #write(): Promise<void> {
    while (this.#waiting.length > 0) {
      let parts = this.#waiting;
      this.#waiting = [];
      this.#waitingBytes = 0;
      while (parts.length > 0) {
        const { bytesWritten } = await this.#file.writev(parts);
        this.#written += bytesWritten;
        parts = after(parts, bytesWritten);
      }
    }
    this.#writing = null;
  }
}

/** What is left of the parts when so many bytes of them are written. */
function after(parts: Uint8Array[], bytes: number): Uint8Array[] {
  let left = bytes;
  for (const [at, part] of parts.entries()) {
    if (left < part.length) return [part.subarray(left), ...parts.slice(at + 1)];
    left -= part.length;
  }
  return [];
}
