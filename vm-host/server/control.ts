import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { CLOSE_CODES } from "@svc/contract/close-codes.ts";
import { BINARY_FRAME_BYTES, parseBinary } from "@svc/contract/control-channel/binary-frame.ts";
import { FRAME_PAYLOAD_BYTES } from "@svc/contract/control-channel/frames.ts";
import { SUBPROTOCOL } from "@svc/contract/control-channel/protocol.ts";
import { RpcServer } from "@svc/contract/control-channel/rpc-server.ts";
import type { Receiver, Wire } from "@svc/contract/control-channel/wire.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { shortReason } from "@svc/host-kit/frames.ts";
import { refuseUpgrade } from "@svc/host-kit/reply.ts";
import { type RawData, type WebSocket, WebSocketServer } from "ws";
import type { CustomerSocket, Vm } from "../machines/vm.ts";
import { CodedSocket } from "./coded-socket.ts";
import { Computer } from "./computer.ts";
import { ControlCalls, addresseeOf } from "./control-calls.ts";
import { OWN_ANSWER } from "./port-headers.ts";

const PING_MS = 20_000;
/** Memory of a waiting message besides its bytes. */
const MESSAGE_BYTES = 512;
/** With so much unread by one client, those of all clients are added up. */
const UNREAD_BYTES = LIMITS.machineHeldBytes / LIMITS.machineControlSockets;

const TOO_MANY = `The machine has ${LIMITS.machineControlSockets} control sockets open. Close one first.\n`;

const server = new WebSocketServer({
  noServer: true,
  WebSocket: CodedSocket,
  maxPayload: FRAME_PAYLOAD_BYTES,
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
  if (vm.sockets.size >= LIMITS.machineControlSockets)
    return refuseUpgrade(socket, 429, TOO_MANY, OWN_ANSWER);
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
  readonly #computer: Computer;
  /** Answers what the machine is not asked. */
  readonly #host: RpcServer;
  #hasPong = true;
  readonly #calls: ControlCalls;
  /** With what each message takes besides its bytes. */
  waitingBytes = 0;

  constructor(vm: Vm, webSocket: WebSocket) {
    this.#vm = vm;
    this.#webSocket = webSocket;
    this.#calls = new ControlCalls(vm, (text) => this.#toClient(Buffer.from(text), false));
    this.#computer = new Computer(vm);
    const wire: Wire = {
      sendText: (text) => this.text(Buffer.from(text)),
      sendBinary: (message) => this.binary(message),
      close: (reason) => this.end(CLOSE_CODES.protocolBroken, reason),
      whenWritable: () => null,
    };
    this.#host = new RpcServer(wire, this.#computer.methods);
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
    // A client that broke a rule: the socket says so and ends by itself.
    this.#webSocket.on("error", () => {});
    this.#webSocket.on("message", (data, isBinary) => void this.#toGuest(data, isBinary));
    this.#webSocket.on("close", () => {
      clearInterval(pings);
      this.#vm.sockets.delete(this);
      this.#calls.end();
      this.#host.closed();
      this.#computer.end();
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

  cut(): void {
    this.#webSocket.terminate();
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

  /** The agent closes a connection for what its customer has sent; all else is a new life of the port. */
  closed(reason: string, byOther?: boolean): void {
    this.#wire = null;
    this.end(byOther ? CLOSE_CODES.protocolBroken : CLOSE_CODES.restart, reason);
  }

  #toClient(payload: Uint8Array, isBinary: boolean): void {
    if (this.#webSocket.readyState !== this.#webSocket.OPEN) return;
    const bytes = payload.length + MESSAGE_BYTES;
    this.waitingBytes += bytes;
    // A copy: a message of one byte that waits would keep the whole chunk it came in.
    this.#webSocket.send(Buffer.from(payload), { binary: isBinary }, () => {
      this.waitingBytes -= bytes;
    });
    if (this.waitingBytes > UNREAD_BYTES) cutSlowest(this.#vm.sockets);
  }

  async #toGuest(data: RawData, isBinary: boolean): Promise<void> {
    const bytes = Buffer.isBuffer(data) ? data : Buffer.concat([data].flat().map(asBuffer));
    const wire = this.#wire;
    if (!wire || (bytes.length === 0 && !isBinary)) return;
    if (isBinary && bytes.length > BINARY_FRAME_BYTES)
      return this.end(CLOSE_CODES.messageTooLarge, "a binary message has more than 64 KiB");
    if (isBinary && !parseBinary(bytes))
      return this.end(CLOSE_CODES.protocolBroken, "a binary message has no stream or channel");
    if (isBinary) this.#vm.touch();
    else if (!this.#calls.fromClient(bytes)) return;
    const who = isBinary ? "guest" : addresseeOf(bytes);
    if (who !== "guest") this.#host.text(bytes);
    if (who === "host") return;
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

/** Cuts the clients that have read least, until what waits for the others may be held. The port is shared: it cannot wait for one of them. */
function cutSlowest(sockets: Iterable<CustomerSocket>): void {
  const slowest = [...sockets].toSorted((a, b) => b.waitingBytes - a.waitingBytes);
  let waiting = slowest.reduce((sum, { waitingBytes }) => sum + waitingBytes, 0);
  for (const socket of slowest) {
    if (waiting <= LIMITS.machineHeldBytes) return;
    waiting -= socket.waitingBytes;
    socket.cut();
  }
}

function asBuffer(data: Buffer | ArrayBuffer): Buffer {
  return Buffer.isBuffer(data) ? data : Buffer.from(data);
}
