import type { Duplex } from "node:stream";

/** What is held of a sender that nobody reads at the moment. */
const HELD_BYTES = 64 * 1024;

interface Wanted {
  bytes: number;
  resolve: (bytes: Buffer) => void;
  reject: (error: Error) => void;
}

/** Reads a stream in pieces of the size that is asked for. One caller at a time. */
export class ByteReader {
  readonly #socket: Duplex;
  #chunks: Buffer[] = [];
  #length = 0;
  #wanted: Wanted | null = null;
  #fault: Error | null = null;

  constructor(socket: Duplex) {
    this.#socket = socket;
    socket.on("data", (chunk: Buffer) => this.#add(chunk));
    socket.on("error", (error: Error) => this.#fail(error));
    for (const end of ["end", "close"])
      socket.on(end, () => this.#fail(new Error("the connection has ended")));
  }

  /** The next so many bytes. Rejects once the stream has ended. */
  take(bytes: number): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      this.#wanted = { bytes, resolve, reject };
      this.#deliver();
      if (this.#wanted && this.#fault) this.#fail(this.#fault);
      else if (this.#wanted) this.#socket.resume();
    });
  }

  #add(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    this.#deliver();
    if (!this.#wanted && this.#length > HELD_BYTES) this.#socket.pause();
  }

  #deliver(): void {
    const wanted = this.#wanted;
    if (!wanted || this.#length < wanted.bytes) return;
    const all = this.#chunks.length === 1 ? this.#chunks[0] : Buffer.concat(this.#chunks);
    const bytes = all ?? Buffer.alloc(0);
    this.#wanted = null;
    this.#length -= wanted.bytes;
    this.#chunks = this.#length > 0 ? [bytes.subarray(wanted.bytes)] : [];
    wanted.resolve(bytes.subarray(0, wanted.bytes));
  }

  #fail(error: Error): void {
    this.#fault ??= error;
    this.#wanted?.reject(this.#fault);
    this.#wanted = null;
  }
}
