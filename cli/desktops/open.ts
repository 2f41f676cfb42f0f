import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { pipeline } from "node:stream";
import type { Cli } from "../cli.ts";
import { UsageError } from "../errors.ts";
import { styled } from "../terminal/colours.ts";
import { oneLine } from "../terminal/plain.ts";

/** The stream of a desktop is plain RFB: a port here leads any VNC viewer to it. */
export async function openDesktop(
  cli: Cli,
  id: string,
  { port = 0, viewOnly, url: isUrl }: { port?: number; viewOnly?: true; url?: true },
): Promise<void> {
  const { streamUrl } = await (await cli.svc()).desktops.connect(id);
  const url = viewOnly ? `${streamUrl}?view=1` : streamUrl;
  if (isUrl) return cli.print({ streamUrl: url }, url);
  const server = createServer((viewer) => void lead(viewer, url)).listen(port, "127.0.0.1");
  await once(server, "listening").catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(`Port ${port} cannot be used (${error.code}): pass another --port.`);
  });
  const address = `vnc://127.0.0.1:${(server.address() as AddressInfo).port}`;
  cli.print({ url: address }, address);
  cli.note("Open it with a VNC viewer. Ctrl-C ends it; the desktop goes on.");
  await once(process, "SIGINT");
}

async function lead(viewer: Socket, url: string): Promise<void> {
  viewer.on("error", () => {});
  const { createWebSocketStream, WebSocket } = await import("ws");
  const socket = new WebSocket(url);
  let fault = "the connection was lost";
  socket.on("error", ({ message }) => (fault = message));
  socket.on("close", (code, reason) => {
    const hasLeft = viewer.destroyed || viewer.readableEnded;
    if (code <= 1001 || hasLeft) return;
    console.error(styled("dim", oneLine(`${code} ${String(reason) || fault}`), process.stderr));
  });
  const stream = createWebSocketStream(socket);
  // The end of one side ends the other one: the viewer tells its user that the connection is gone.
  pipeline(viewer, stream, () => {});
  pipeline(stream, viewer, () => {});
}
