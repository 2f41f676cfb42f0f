import type { Socket } from "node:net";
import type { Readable } from "node:stream";

/** The pause after each chunk that is thrown away: 16 MiB a second at most, which no other session feels. */
export const DROP_PAUSE_MS = 4;

/** Stops reading from a socket that is handed over: two processes have it, and its bytes are for the other one. */
export function stopReading(socket: Socket): void {
  callHandle(socket, "readStop");
}

/** Reads on, and drops what comes: a socket closed with bytes unread takes its last words with it. */
export function readToEnd(socket: Socket): void {
  if (socket.destroyed) return;
  callHandle(socket, "readStart");
  drop(socket);
}

/** Reads on slowly, and throws away what comes. */
export function drop(source: Readable): void {
  source.on("data", () => {
    source.pause();
    setTimeout(() => source.resume(), DROP_PAUSE_MS).unref();
  });
  source.resume();
}

function callHandle(socket: Socket, name: string): void {
  const handle: unknown = Reflect.get(socket, "_handle");
  const call: unknown =
    typeof handle === "object" && handle !== null ? Reflect.get(handle, name) : null;
  if (typeof call !== "function") throw new TypeError("a socket that cannot be handed over");
  call.call(handle);
}
