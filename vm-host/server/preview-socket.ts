import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { FrameScanner, closeFrame } from "@svc/host-kit/frames.ts";
import { isRefused } from "@svc/contract/control-channel/refusals.ts";
import type { Ending } from "../machines/ending.ts";
import type { PreviewSocket } from "../machines/vm.ts";

/** How long a client has to answer a close frame. */
const GOODBYE_MS = 5_000;

/** The machine of a preview, as far as its open sockets go. */
export interface PreviewMachine {
  touch(): void;
  previewSockets: Set<PreviewSocket>;
  ending(): Promise<Ending | null>;
}

/** An upgraded preview: both of its ends, and what the server inside has said already. */
export interface JoinedPreview {
  client: Socket;
  inside: Duplex;
  first: Buffer;
  isWebSocket: boolean;
}

/**
 * Passes the bytes of an upgraded preview both ways until one side has ended. A WebSocket whose machine is paused, reverted
 * or ended is closed with the code and the reason of that; any other break of the server inside is passed on as it is.
 */
export async function joinPreview(
  vm: PreviewMachine,
  { client, inside, first, isWebSocket }: JoinedPreview,
): Promise<void> {
  const scanner = new FrameScanner();
  const socket: PreviewSocket = {
    end: (code, reason) => {
      vm.previewSockets.delete(socket);
      inside.unpipe(client);
      const isBetween = isWebSocket && scanner.isAtBoundary && !scanner.sawClose;
      if (isBetween && client.writable) client.end(closeFrame(code, reason));
      else client.destroy();
      setTimeout(() => client.destroy(), GOODBYE_MS).unref();
      inside.destroy();
    },
  };
  vm.previewSockets.add(socket);
  const over = new Promise<void>((resolve) => {
    if (inside.closed) resolve();
    inside.once("close", () => resolve());
  });
  inside.on("data", (chunk: Buffer) => {
    scanner.push(chunk);
    vm.touch();
  });
  client.on("data", () => vm.touch());
  for (const end of [client, inside]) end.on("error", () => end.destroy());
  scanner.push(first);
  client.write(first);
  inside.pipe(client);
  client.pipe(inside);
  await over;
  // Closed by the host already, or by one of its sides in order.
  if (!vm.previewSockets.delete(socket) || inside.readableEnded) return;
  const ending = isRefused(inside.errored, "Disconnected") ? await vm.ending() : null;
  if (ending) socket.end(ending.code, ending.reason);
  else client.destroy();
}
