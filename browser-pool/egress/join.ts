import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { intakeOf } from "./intake.ts";

/** Passes bytes between two sockets, each no faster than the other takes them, and ends each as the other ended. */
export function join(client: Socket, origin: Socket): void {
  endWith(client, origin);
  endWith(origin, client);
  client.pipe(origin);
  const intake = intakeOf(origin);
  if (intake) intake.into(client, origin);
  else origin.pipe(client);
}

function endWith(one: Socket, other: Socket): void {
  let isReset = false;
  one.on("error", (error: NodeJS.ErrnoException) => (isReset = error.code === "ECONNRESET"));
  one.once("close", (hadError) => {
    if (isReset) reset(other);
    else if (hadError) other.destroy();
    else other.destroySoon();
  });
}

// A browser tells a reset from an end. Unix sockets, which have no address, and TLS know none: Node throws there.
function reset(socket: Socket): void {
  if (socket.remoteAddress === undefined || socket instanceof TLSSocket) socket.destroy();
  else socket.resetAndDestroy();
}
