import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { CLOSE_CODES } from "@svc/contract/close-codes.ts";
import { FRAME_PAYLOAD_BYTES } from "@svc/contract/control-channel/frames.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { LATE, inTime } from "@svc/host-kit/deadline.ts";
import { shortReason } from "@svc/host-kit/frames.ts";
import { refuseUpgrade } from "@svc/host-kit/reply.ts";
import { type RawData, type WebSocket, WebSocketServer } from "ws";
import type { PreviewSocket, Vm } from "../machines/vm.ts";
import { SCREEN_PORT } from "../screen/screen.ts";
import { ViewerFilter } from "../screen/viewer-filter.ts";
import { CodedSocket } from "./coded-socket.ts";
import { OWN_ANSWER } from "./port-headers.ts";

const PING_MS = 20_000;
/** What one viewer has not read; then its screen waits, which sends only what is there when it goes on. */
const UNREAD_BYTES = 1024 * 1024;
const TOO_MANY = `The desktop has ${LIMITS.machineViewers} viewers. Close one first.\n`;

/** The machine of a desktop, as far as its viewers go. */
export type WatchedVm = Pick<Vm, "begin" | "ending" | "previewSockets" | "screen" | "viewers"> & {
  guest: { dial(port: number): Promise<Duplex> };
};

const server = new WebSocketServer({
  noServer: true,
  WebSocket: CodedSocket,
  maxPayload: FRAME_PAYLOAD_BYTES,
  perMessageDeflate: false,
  // What viewers in browsers ask for: plain bytes.
  handleProtocols: (offered) => (offered.has("binary") ? "binary" : false),
});

/** GET /vms/:sandboxId/stream: a viewer of a desktop, which is in use while somebody watches. `?view=1`: it only watches. */
export async function openStream(
  vm: WatchedVm,
  request: IncomingMessage,
  socket: Socket,
  head: Buffer,
): Promise<void> {
  if (!vm.screen) return refuseUpgrade(socket, 404, "A sandbox has no screen.\n", OWN_ANSWER);
  const watching = vm.viewers.with(async () => {
    const over = vm.begin();
    await watch(vm, request, socket, head).finally(over);
  });
  if ((await watching) === null) refuseUpgrade(socket, 429, TOO_MANY, OWN_ANSWER);
}

async function watch(
  vm: WatchedVm,
  request: IncomingMessage,
  socket: Socket,
  head: Buffer,
): Promise<void> {
  const screen = await dialScreen(vm);
  if (!screen) return refuseUpgrade(socket, 502, "The screen does not answer.\n", OWN_ANSWER);
  // It may end before the viewer is there.
  screen.on("error", () => screen.destroy());
  if (socket.destroyed) return void screen.destroy();
  socket.once("close", () => screen.destroy());
  socket.setNoDelay(true);
  const isViewOnly = new URL(request.url ?? "", "http://host").searchParams.get("view") === "1";
  await new Promise<void>((resolve) => {
    socket.once("close", resolve);
    server.handleUpgrade(request, socket, head, (webSocket) => {
      new Viewer(vm, webSocket, screen, new ViewerFilter(isViewOnly)).start();
    });
  });
}

/** A connection to the screen, or null before the gateway gives up. */
async function dialScreen({ guest }: WatchedVm): Promise<Duplex | null> {
  const dialling = guest.dial(SCREEN_PORT);
  const screen = await inTime(dialling, LIMITS.slotUpgradeMs).catch(() => null);
  if (screen !== LATE) return screen;
  dialling.then(
    (late) => late.destroy(),
    () => null,
  );
  return null;
}

/** One viewer: its WebSocket, and a connection of its own to the screen. */
class Viewer implements PreviewSocket {
  readonly #vm: WatchedVm;
  readonly #webSocket: WebSocket;
  readonly #screen: Duplex;
  readonly #filter: ViewerFilter;
  #hasPong = true;

  constructor(vm: WatchedVm, webSocket: WebSocket, screen: Duplex, filter: ViewerFilter) {
    this.#vm = vm;
    this.#webSocket = webSocket;
    this.#screen = screen;
    this.#filter = filter;
  }

  start(): void {
    this.#vm.previewSockets.add(this);
    const pings = setInterval(() => this.#ping(), PING_MS);
    this.#webSocket.on("pong", () => (this.#hasPong = true));
    // A viewer that broke a rule: the socket says so and ends by itself.
    this.#webSocket.on("error", () => {});
    this.#webSocket.on("message", (data, isBinary) => this.#toScreen(data, isBinary));
    this.#webSocket.on("close", () => {
      clearInterval(pings);
      this.#vm.previewSockets.delete(this);
      this.#screen.destroy();
    });
    this.#screen.on("data", (chunk: Buffer) => this.#toViewer(chunk));
    this.#screen.once("close", () => void this.#screenEnded());
    if (this.#screen.closed) void this.#screenEnded();
  }

  end(code: number, reason: string): void {
    this.#webSocket.close(code, shortReason(reason));
  }

  /** The machine has ended, or the screen alone: that one comes back. */
  async #screenEnded(): Promise<void> {
    const ending = await this.#vm.ending();
    if (ending) this.end(ending.code, ending.reason);
    else this.end(CLOSE_CODES.restart, "the screen has ended the connection");
  }

  #toViewer(chunk: Buffer): void {
    if (this.#webSocket.readyState !== this.#webSocket.OPEN) return;
    this.#webSocket.send(chunk, () => {
      if (this.#webSocket.bufferedAmount <= UNREAD_BYTES) this.#screen.resume();
    });
    if (this.#webSocket.bufferedAmount > UNREAD_BYTES) this.#screen.pause();
  }

  #toScreen(data: RawData, isBinary: boolean): void {
    if (!isBinary) return this.end(CLOSE_CODES.protocolBroken, "RFB comes in binary messages");
    try {
      const passed = this.#filter.take(bytesOf(data));
      if (passed.length === 0 || this.#screen.write(passed)) return;
      this.#webSocket.pause();
      this.#screen.once("drain", () => this.#webSocket.resume());
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.end(CLOSE_CODES.protocolBroken, reason);
    }
  }

  #ping(): void {
    if (!this.#hasPong) return this.#webSocket.terminate();
    this.#hasPong = false;
    this.#webSocket.ping();
  }
}

function bytesOf(data: RawData): Buffer {
  if (Buffer.isBuffer(data)) return data;
  return Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data);
}
