import type { Socket } from "node:net";
import { closeFrame } from "@svc/host-kit/frames.ts";
import { Intake } from "../cdp/intake.ts";
import { writeTogether } from "../cdp/pieces.ts";
import type { MessageSink } from "../cdp/pipe.ts";
import type { Turns } from "../cdp/turns.ts";
import { FrameReader } from "./frame-reader.ts";
import { pongFrame, textHeader } from "./frames.ts";

const GOODBYE_MS = 2_000;
const EMPTY_CLOSE = Buffer.from([0x88, 0]);

export interface ServerSocketOptions extends MessageSink {
  /** Of the session that the socket belongs to. */
  turns: Turns;
  /** The socket is closed for what the client did. */
  onFault: (code: number, reason: string) => void;
  onDrain: () => void;
  /** Called once. `isClean`: the client said goodbye, and had kept to the protocol. */
  onClose: (isClean: boolean) => void;
}

/** The server's end of a WebSocket. Messages come in pieces and go out in pieces: a long one holds up nobody. */
export class ServerSocket {
  readonly #socket: Socket;
  readonly #intake: Intake;
  /** The latest ping that has no answer. */
  #ping: Buffer | null = null;
  #isClosing = false;
  #isClean = false;
  #isFaulty = false;

  /** `socket`: has upgraded. */
  constructor(socket: Socket, options: ServerSocketOptions) {
    this.#socket = socket;
    const reader = new FrameReader({
      piece: (bytes) => void (this.#isClosing || options.piece(bytes)),
      end: () => void (this.#isClosing || options.end()),
      onPing: (payload) => this.#pong(payload),
      onClose: (code) => this.#answerClose(code),
      onFault: (code, reason) => {
        this.#isFaulty = true;
        options.onFault(code, reason);
        this.close(code, reason);
      },
    });
    this.#intake = new Intake(socket, options.turns, (chunk) => reader.take(chunk));
    socket.on("error", () => socket.destroy());
    socket.on("end", () => socket.end());
    socket.on("drain", () => {
      if (this.#ping) this.#pong(this.#ping);
      options.onDrain();
    });
    socket.once("close", () => options.onClose(this.#isClean && !this.#isFaulty));
  }

  /** Starts to read. `head`: bytes that came after the upgrade. */
  start(head: Buffer): void {
    this.#intake.start(head);
  }

  /** Bytes given to the socket that the client has not taken. */
  get waitingBytes(): number {
    return this.#socket.writableLength;
  }

  /** Bytes that ever left the socket. */
  get sentBytes(): number {
    return this.#socket.bytesWritten - this.#socket.writableLength;
  }

  /** Sends a text in pieces. */
  send(pieces: Buffer[]): void {
    const bytes = pieces.reduce((sum, { length }) => sum + length, 0);
    this.#write([textHeader(bytes), ...pieces]);
  }

  /** Closes the socket with a reason; cuts it when the client does not answer. */
  close(code: number, reason: string): void {
    if (this.#isClosing) return;
    this.#write([closeFrame(code, reason)]);
    this.#isClosing = true;
    this.#intake.free();
    setTimeout(() => this.cut(), GOODBYE_MS).unref();
  }

  /** Ends the socket with no word. */
  cut(): void {
    this.#socket.destroy();
  }

  /** Stops reading until every holder has released the socket. */
  hold(): void {
    this.#intake.hold();
  }

  release(): void {
    this.#intake.release();
  }

  // To a client that does not read, the latest ping alone is answered (RFC 6455, 5.5.3).
  #pong(payload: Buffer): void {
    this.#ping = this.waitingBytes > 0 ? Buffer.from(payload) : null;
    if (!this.#ping) this.#write([pongFrame(payload)]);
  }

  #answerClose(code: number | null): void {
    this.#isClean = true;
    // An empty close frame is answered by an empty one.
    if (code === null) this.#write([EMPTY_CLOSE]);
    else this.close(code, "");
    this.#isClosing = true;
    this.#socket.end();
    setTimeout(() => this.cut(), GOODBYE_MS).unref();
  }

  #write(pieces: Buffer[]): void {
    const socket = this.#socket;
    if (this.#isClosing || !socket.writable) return;
    writeTogether(socket, pieces);
  }
}
