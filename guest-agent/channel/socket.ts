import type { Transport } from "@svc/contract/control-channel/wire.ts";
import { once } from "node:events";
import { type Server, type Socket, createServer } from "node:net";

const HIGH_BYTES = 512 * 1024;

/** A port as a unix socket that the host connects to, as it connects to the one of a real machine. */
export class SocketPort implements Transport {
  readonly #server: Server;
  #socket: Socket | null = null;
  #room: Promise<void> | null = null;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async listen(path: string): Promise<SocketPort> {
    const server = createServer();
    server.listen(path);
    await once(server, "listening");
    return new SocketPort(server);
  }

  /** Hands on what arrives; a new host end takes the place of the one before. */
  read(onBytes: (bytes: Uint8Array) => void): void {
    this.#server.on("connection", (socket) => {
      this.#socket?.destroy();
      this.#socket = socket;
      socket.on("data", (chunk: Buffer) => {
        if (socket === this.#socket) onBytes(chunk);
      });
      socket.on("error", () => socket.destroy());
    });
  }

  write(bytes: Uint8Array): void {
    if (this.#socket?.writable) this.#socket.write(bytes);
  }

  whenWritable(): Promise<void> | null {
    const socket = this.#socket;
    if (!socket?.writable || socket.writableLength < HIGH_BYTES) return null;
    return (this.#room ??= this.#roomOf(socket));
  }

  /** One for all that wait: there may be many streams. */
  async #roomOf(socket: Socket): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    socket.on("drain", resolve);
    socket.on("close", resolve);
    await promise;
    socket.off("drain", resolve);
    socket.off("close", resolve);
    this.#room = null;
  }

  close(): void {
    this.#server.close();
    this.#socket?.destroy();
  }
}
