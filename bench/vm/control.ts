import { once } from "node:events";
import { METHODS } from "@svc/contract/control-channel/methods.ts";
import { RpcClient } from "@svc/contract/control-channel/rpc-client.ts";
import { WebSocket } from "ws";
import type { VmHost } from "./host.ts";

/** Opens a control socket of a machine. */
export async function openControl(host: VmHost, id: string) {
  const { url, headers } = await host.socket(id);
  const socket = new WebSocket(url, { headers });
  const wire = {
    sendText: (text: string) => socket.send(text),
    sendBinary: (message: Uint8Array) => socket.send(message),
    close: (reason: string) => socket.close(1002, reason),
    whenWritable: () => null,
  };
  const client = new RpcClient(wire, METHODS);
  socket.on("message", (data: Buffer, isBinary) =>
    isBinary ? client.binary(data) : client.text(data),
  );
  socket.on("close", () => client.closed());
  await once(socket, "open");
  return { client, socket };
}
