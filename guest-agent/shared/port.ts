import type { Transport } from "@svc/contract/control-channel/wire.ts";
import { Socket } from "node:net";

const HIGH_BYTES = 512 * 1024;

/** A port of a share: an open socket that its first program was given. */
export class InheritedPort implements Transport {
  readonly #socket: Socket;
  #room: Promise<void> | null = null;

  constructor(fd: number) {
    this.#socket = new Socket({ fd, readable: true, writable: true });
    // Its other end is the machine: without it nobody can be answered.
    this.#socket.on("error", () => process.exit(1));
    this.#socket.on("close", () => process.exit(1));
  }

  read(onBytes: (bytes: Uint8Array) => void): void {
    this.#socket.on("data", (chunk: Buffer) => onBytes(chunk));
  }

  write(bytes: Uint8Array): void {
    this.#socket.write(bytes);
  }

  whenWritable(): Promise<void> | null {
    if (this.#socket.writableLength < HIGH_BYTES) return null;
    this.#room ??= new Promise<void>((resolve) => {
      this.#socket.once("drain", () => {
        this.#room = null;
        resolve();
      });
    });
    return this.#room;
  }
}
