import { once } from "node:events";
import { METHODS } from "@svc/contract/control-channel/methods.ts";
import type { NotificationHandler } from "@svc/contract/control-channel/rpc-calls.ts";
import { RpcClient } from "@svc/contract/control-channel/rpc-client.ts";
import { WebSocket } from "ws";

/** A customer's control socket, with the client that asks over it. */
export interface ControlClient {
  client: RpcClient<typeof METHODS>;
  /** Resolves with the parameters of `rpc.hello`. */
  hello: Promise<unknown>;
  socket: WebSocket;
}

/** Opens a control socket. Resolves when it is open, whatever the machine says. `takes`: false drops the socket, and the message. */
export async function openControlClient(
  url: string,
  headers: Record<string, string> = {},
  onNotification: NotificationHandler = () => {},
  takes: () => boolean = () => true,
): Promise<ControlClient> {
  const socket = new WebSocket(url, { headers });
  const hello = Promise.withResolvers<unknown>();
  const wire = {
    sendText: (text: string) => socket.send(text),
    sendBinary: (message: Uint8Array) => socket.send(message),
    close: (reason: string) => socket.close(1002, reason),
    whenWritable: () => null,
  };
  const client = new RpcClient(wire, METHODS, (method, params) => {
    if (method === "rpc.hello") hello.resolve(params);
    onNotification(method, params);
  });
  socket.on("message", (data: Buffer, isBinary) => {
    if (socket.readyState !== socket.OPEN) return;
    if (!takes()) socket.terminate();
    else if (isBinary) client.binary(data);
    else client.text(data);
  });
  socket.on("close", () => client.closed());
  socket.on("error", () => socket.terminate());
  await once(socket, "open");
  return { client, hello: hello.promise, socket };
}
