import type { Socket } from "node:net";

/** Passes bytes between two sockets, each no faster than the other takes them, and ends each as the other ended. */
export function join(client: Socket, origin: Socket): void {
  endWith(client, origin);
  endWith(origin, client);
  client.pipe(origin);
  origin.pipe(client);
}

function endWith(one: Socket, other: Socket): void {
  let isReset = false;
  // A reset goes through as one: a browser tells it from an end.
  one.on("error", (error: NodeJS.ErrnoException) => (isReset = error.code === "ECONNRESET"));
  one.once("close", (hadError) => {
    if (isReset) other.resetAndDestroy();
    else if (hadError) other.destroy();
    else other.destroySoon();
  });
}
