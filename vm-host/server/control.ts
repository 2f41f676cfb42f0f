import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { CLOSE_CODES } from "@svc/contract/close-codes.ts";
import { FRAME_PAYLOAD_BYTES } from "@svc/contract/control-channel/frames.ts";
import { SUBPROTOCOL } from "@svc/contract/control-channel/methods.ts";
import type { Receiver, Wire } from "@svc/contract/control-channel/wire.ts";
import { BACKLOG_BYTES } from "@svc/host-kit/backlog.ts";
import { shortReason } from "@svc/host-kit/frames.ts";
import { type RawData, type WebSocket, WebSocketServer } from "ws";
import type { CustomerSocket, Vm } from "../machines/vm.ts";
import { ControlCalls } from "./control-calls.ts";

const PING_MS = 20_000;

const server = new WebSocketServer({
  noServer: true,
  // Somewhat more than a message may have, so that a longer one gets our own close code.
  maxPayload: 4 * FRAME_PAYLOAD_BYTES,
  perMessageDeflate: false,
  handleProtocols: (offered) => (offered.has(SUBPROTOCOL) ? SUBPROTOCOL : false),
});

/** GET /vms/:sandboxId/control: a customer's socket, message by message a connection to the agent. */
export async function openControl(
  vm: Vm,
  request: IncomingMessage,
  socket: Socket,
  head: Buffer,
): Promise<void> {
  socket.setNoDelay(true);
  const webSocket = await new Promise<WebSocket>((resolve) => {
    server.handleUpgrade(request, socket, head, resolve);
  });
  new ControlSocket(vm, webSocket).start();
}

/** One customer's control socket. */
class ControlSocket implements CustomerSocket, Receiver {
  readonly #vm: Vm;
  readonly #webSocket: WebSocket;
  #wire: Wire | null = null;
  #hasPong = true;
  readonly #calls: ControlCalls;

  constructor(vm: Vm, webSocket: WebSocket) {
    this.#vm = vm;
    this.#webSocket = webSocket;
    this.#calls = new ControlCalls(vm, (text) => this.#toClient(text, false));
  }

  start(): void {
    // A parked machine goes on, and its agent says hello.
    this.#vm.touch();
    const connection = this.#vm.guest.open((wire) => {
      this.#wire = wire;
      return this;
    });
    if (!connection) return this.end(CLOSE_CODES.tooMany, "too many control sockets are open");
    this.#vm.sockets.add(this);
    const pings = setInterval(() => this.#ping(), PING_MS);
    this.#webSocket.on("pong", () => (this.#hasPong = true));
    this.#webSocket.on("error", () => this.#webSocket.terminate());
    this.#webSocket.on("message", (data, isBinary) => void this.#toGuest(data, isBinary));
    this.#webSocket.on("close", () => {
      clearInterval(pings);
      this.#vm.sockets.delete(this);
      this.#calls.end();
      connection.close("the client has gone");
    });
  }

  parked(): void {
    this.#calls.parked();
  }

  tell(state: string, reason: string): void {
    const message = { jsonrpc: "2.0", method: "vm.state", params: { state, reason } };
    if (this.#webSocket.readyState === this.#webSocket.OPEN)
      this.#webSocket.send(JSON.stringify(message));
  }

  end(code: number, reason: string): void {
    this.#webSocket.close(code, shortReason(reason));
  }

  text(payload: Uint8Array): void {
    if (this.#calls.fromGuest(payload)) this.#toClient(payload, false);
  }

  binary(message: Uint8Array): void {
    this.#vm.touch();
    this.#toClient(message, true);
  }

  closed(reason: string): void {
    this.#wire = null;
    this.end(CLOSE_CODES.restart, reason);
  }

  #toClient(payload: Uint8Array | string, isBinary: boolean): void {
    if (this.#webSocket.readyState !== this.#webSocket.OPEN) return;
    // The port is shared: it cannot stop for one client that does not read.
    if (this.#webSocket.bufferedAmount > BACKLOG_BYTES) return this.#webSocket.terminate();
    this.#webSocket.send(payload, { binary: isBinary });
  }

  async #toGuest(data: RawData, isBinary: boolean): Promise<void> {
    const bytes = Buffer.isBuffer(data) ? data : Buffer.concat([data].flat().map(asBuffer));
    if (bytes.length > FRAME_PAYLOAD_BYTES)
      return this.end(CLOSE_CODES.messageTooLarge, "a message has more than 1 MiB");
    const wire = this.#wire;
    if (!wire || bytes.length === 0) return;
    if (isBinary) this.#vm.touch();
    else if (!this.#calls.fromClient(bytes)) return;
    if (isBinary) wire.sendBinary(bytes);
    else wire.sendText(bytes.toString());
    const full = wire.whenWritable();
    if (!full) return;
    this.#webSocket.pause();
    await full;
    this.#webSocket.resume();
  }

  #ping(): void {
    if (!this.#hasPong) return this.#webSocket.terminate();
    this.#hasPong = false;
    this.#webSocket.ping();
  }
}

function asBuffer(data: Buffer | ArrayBuffer): Buffer {
  return Buffer.isBuffer(data) ? data : Buffer.from(data);
}
