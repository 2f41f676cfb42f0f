import { HOST_METHODS } from "@svc/contract/control-channel/host-methods.ts";
import { refuse } from "@svc/contract/control-channel/refusals.ts";
import type { Method, RequestContext } from "@svc/contract/control-channel/rpc-server.ts";
import { once } from "node:events";
import { type Socket, connect } from "node:net";
import { method } from "@svc/contract/control-channel/method.ts";

const LOOPBACKS = ["127.0.0.1", "::1"];

/** `ports.dial`: a TCP connection to a port of the machine's own loopback. */
export function dialMethod(): Method {
  return method(HOST_METHODS["ports.dial"], async ({ port }, context) => {
    const socket = await dial(port);
    context.notify("ports.connected", { id: context.id });
    return pipe(socket, context);
  });
}

async function dial(port: number): Promise<Socket> {
  for (const host of LOOPBACKS) {
    const socket = connect({ host, port, allowHalfOpen: true });
    socket.pause();
    try {
      await once(socket, "connect");
      return socket.setNoDelay(true);
    } catch {
      // The other family may have a listener.
      socket.destroy();
    }
  }
  throw refuse("ConnectionRefused", `Nothing listens on port ${port}.`);
}

async function pipe(socket: Socket, { stream, signal }: RequestContext) {
  const closed = new Promise((resolve) => socket.once("close", resolve));
  // A reset shows as the end of both directions.
  socket.on("error", () => socket.destroy());
  signal.addEventListener("abort", () => socket.destroy(), { once: true });
  if (signal.aborted) socket.destroy();
  stream.onBytes(async (_channel, bytes) => {
    if (bytes.length === 0) socket.end();
    else if (socket.writable && !socket.write(bytes)) await drained(socket);
  });
  try {
    // Its end is one direction's end only.
    for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
      if (!Buffer.isBuffer(chunk) || (await stream.write(1, chunk))) continue;
      socket.destroy();
      break;
    }
  } catch {
    // It was reset: what came before has been passed on.
  }
  stream.end(1);
  await closed;
  return { sentBytes: socket.bytesWritten, receivedBytes: socket.bytesRead };
}

/** Resolves when it takes more, or has closed: then it never drains. */
function drained(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      socket.off("drain", done);
      socket.off("close", done);
      resolve();
    };
    socket.on("drain", done);
    socket.on("close", done);
  });
}
