import { IncomingMessage, type Server } from "node:http";
import type { Socket } from "node:net";
import { CLOSE_CODES } from "@svc/contract/close-codes.ts";
import { OPENS_HEADER } from "@svc/contract/host-protocol/slots.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { BACKLOG_BYTES, Backlog, STALL_MS } from "@svc/host-kit/backlog.ts";
import { FrameScanner, closeFrame } from "@svc/host-kit/frames.ts";
import type { SocketEnd } from "../customer-sockets.ts";
import { drop } from "../launch/reading.ts";
import type { CustomerEvent, Handover } from "../playwrights/messages.ts";

const KEEP_ALIVE_MS = 30_000;
const GOODBYE_MS = 2_000;
const TOLD_MS = 1_000;
const TOO_LONG = `A message is longer than ${LIMITS.wireMessageBytes / 1024 ** 2} MiB.`;

/** Hears the events of a customer's socket. */
export interface CustomerHearer {
  say: (event: CustomerEvent) => void;
  /** The client's close frame has begun. */
  onGoodbye: () => void;
  onEnd: (end: SocketEnd) => void;
}

/**
 * A customer's socket, handed over by the pool before its upgrade was answered. Playwright answers and uses the socket;
 * this object watches it, so that the pool knows how the socket ends and can end it.
 */
export class Customer {
  readonly #socket: Socket;
  readonly #hearer: CustomerHearer;
  readonly #fromClient = new FrameScanner();
  readonly #toClient = new FrameScanner();
  readonly #backlog: Backlog;
  #toldAt = -TOLD_MS;
  /** The socket is being closed for a message that is too long. */
  #isRefusing = false;
  #isOver = false;

  constructor(socket: Socket, hearer: CustomerHearer) {
    this.#socket = socket;
    this.#hearer = hearer;
    this.#backlog = new Backlog({
      waitingBytes: () => socket.writableLength,
      sentBytes: () => socket.bytesWritten - socket.writableLength,
      highBytes: BACKLOG_BYTES,
      stallMs: STALL_MS,
      onHigh: () => hearer.say("full"),
      onLow: () => hearer.say("drained"),
      onStalled: () => socket.destroy(),
    });
    socket.setNoDelay(true);
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
    socket.on("error", () => socket.destroy());
    socket.on("drain", () => this.#backlog.check());
    socket.once("close", () => this.#closed());
  }

  /** Whether the socket has ended, or was told its end. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Lets Playwright's server answer the upgrade. */
  start(server: Server, { path, headers, head, opens }: Handover): void {
    const socket = this.#socket;
    this.#watchWrites(opens);
    const request = Object.assign(new IncomingMessage(socket), { url: path, method: "GET" });
    Object.assign(request.headers, headers);
    server.emit("upgrade", request, socket, Buffer.from(head, "base64"));
    // Nothing is read before this: frames are seen here before Playwright sees them.
    socket.prependListener("data", (chunk: Buffer) => this.#heard(chunk));
  }

  /** Has all that the socket tells its listeners run by `run`. */
  inside(run: (work: () => boolean) => boolean): void {
    const socket = this.#socket;
    const emit = socket.emit.bind(socket);
    Object.defineProperty(socket, "emit", {
      configurable: true,
      writable: true,
      value: (...args: Parameters<Socket["emit"]>): boolean => run(() => emit(...args)),
    });
  }

  /** Ends the socket with a close frame. Playwright writes whole frames, so a frame fits between them. */
  end(code: number, reason: string): void {
    if (this.#isOver) return;
    this.#socket.write(closeFrame(code, reason));
    this.#isOver = true;
    this.#socket.end();
    setTimeout(() => this.#socket.destroy(), GOODBYE_MS).unref();
  }

  #watchWrites(opens: number): void {
    const socket = this.#socket;
    const write: unknown = Reflect.get(socket, "write");
    if (typeof write !== "function") throw new TypeError("a socket cannot write");
    let isFirst = true;
    Object.defineProperty(socket, "write", {
      configurable: true,
      // Node replaces it when the other side has ended.
      writable: true,
      value: (...args: unknown[]): unknown => {
        // What comes after the goodbye would be an error of the socket.
        if (this.#isOver) return true;
        const [first, ...rest] = args;
        if (this.#isTooLong(first)) return true;
        const isFast: unknown = write.call(
          socket,
          isFirst ? numbered(first, opens) : first,
          ...rest,
        );
        isFirst = false;
        this.#backlog.check();
        return isFast;
      },
    });
  }

  /** Follows what Playwright writes, and refuses a message by its header. */
  #isTooLong(written: unknown): boolean {
    if (this.#isRefusing) return false;
    if (Buffer.isBuffer(written)) this.#toClient.push(written);
    // The answer to the upgrade is no frame, and leaves the scanner between frames.
    else if (typeof written === "string") this.#toClient.pass(Buffer.byteLength(written));
    return this.#refuseBeyond(this.#toClient.longestBytes);
  }

  #refuseBeyond(bytes: number): boolean {
    if (bytes <= LIMITS.wireMessageBytes || this.#isOver) return false;
    this.#isRefusing = true;
    // Playwright hears no more of this client.
    this.#socket.removeAllListeners("data");
    drop(this.#socket);
    this.end(CLOSE_CODES.messageTooLarge, TOO_LONG);
    return true;
  }

  #heard(chunk: Buffer): void {
    const hadClose = this.#fromClient.sawClose;
    this.#fromClient.push(chunk);
    if (this.#refuseBeyond(this.#fromClient.longestBytes)) return;
    if (this.#fromClient.sawClose && !hadClose) this.#hearer.onGoodbye();
    if (performance.now() - this.#toldAt < TOLD_MS) return;
    this.#toldAt = performance.now();
    this.#hearer.say("active");
  }

  #closed(): void {
    this.#isOver = true;
    this.#backlog.close();
    this.#hearer.onEnd(this.#fromClient.sawClose ? "clean" : "dropped");
  }
}

/** The answer to an upgrade, with the number of the socket. Playwright's server writes it as one text. */
function numbered(answer: unknown, opens: number): unknown {
  if (typeof answer !== "string" || !answer.startsWith("HTTP/1.1 101 ")) return answer;
  return answer.replace("\r\n\r\n", `\r\n${OPENS_HEADER}: ${opens}\r\n\r\n`);
}
