import type { FrameHead, TextMessage } from "@svc/contract/browser/observer.ts";
import { CLOSE_CODES } from "@svc/contract/close-codes.ts";
import type { Pass } from "./token.ts";

/** A frame as it came. */
export interface Frame {
  head: FrameHead;
  jpeg: Uint8Array<ArrayBuffer>;
}

/** How a hand-off is over. `gone`: the session has ended. */
export type Outcome = "completed" | "cancelled" | "expired" | "gone";

/** The events that the page is told of. */
export interface Hears {
  frame: (frame: Frame) => void;
  text: (message: TextMessage) => void;
  /** Whether what the person does arrives. */
  connected: (isConnected: boolean) => void;
  over: (outcome: Outcome) => void;
}

const SOONEST_MS = 500;
const LATEST_MS = 8_000;
/** The wait for an answer: longer than the gateway takes for one. */
const ANSWER_MS = 30_000;

const decoder = new TextDecoder();

/** The page's way to the session: connects, and connects again, until the hand-off is over. */
export class Link {
  readonly #pass: Pass;
  readonly #hears: Hears;
  #socket: WebSocket | null = null;
  #waitMs = SOONEST_MS;
  #isOver = false;

  constructor(pass: Pass, hears: Hears) {
    this.#pass = pass;
    this.#hears = hears;
    void this.#connect();
  }

  /** Sends a message of the person; it is dropped while there is no connection. */
  send(message: object): void {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message));
  }

  async #connect(): Promise<void> {
    const outcome = await this.#outcome();
    if (outcome) return this.#end(outcome);
    const { alias, token } = this.#pass;
    const url = new URL(`/ws/live/${alias}`, location.href.replace(/^http/, "ws"));
    url.searchParams.set("token", token);
    const socket = new WebSocket(url);
    socket.binaryType = "arraybuffer";
    this.#socket = socket;
    socket.addEventListener("open", () => {
      this.#waitMs = SOONEST_MS;
      this.#hears.connected(true);
    });
    socket.addEventListener("message", ({ data }: MessageEvent<string | ArrayBuffer>) =>
      this.#hear(data),
    );
    socket.addEventListener("close", ({ code }) => this.#closed(code));
  }

  #hear(data: string | ArrayBuffer): void {
    if (typeof data !== "string") {
      const frame = frameOf(data);
      this.send({ type: "ack", seq: frame.head.seq });
      return this.#hears.frame(frame);
    }
    const message = JSON.parse(data) as TextMessage;
    if (message.type === "pages") this.send({ type: "ack", seq: message.seq });
    this.#hears.text(message);
  }

  #closed(code: number): void {
    this.#hears.connected(false);
    if (code === CLOSE_CODES.tokenExpired) return this.#end("expired");
    if (code === CLOSE_CODES.gone || code === CLOSE_CODES.deadline) return this.#end("gone");
    setTimeout(() => void this.#connect(), code === CLOSE_CODES.normal ? 0 : this.#waitMs);
    this.#waitMs = Math.min(this.#waitMs * 2, LATEST_MS);
  }

  /** How the hand-off is over; null while it is not, or nobody can be asked. */
  async #outcome(): Promise<Outcome | null> {
    const { handoff, token, expiresAt } = this.#pass;
    if (Date.now() >= expiresAt) return "expired";
    const headers = { authorization: `Bearer ${token}` };
    try {
      const signal = AbortSignal.timeout(ANSWER_MS);
      const answer = await fetch(`/console/live/${handoff}/standing`, { headers, signal });
      if (answer.status === 401) return "expired";
      if (!answer.ok) return null;
      const { status } = (await answer.json()) as { status: Outcome | "pending" | "active" };
      return status === "pending" || status === "active" ? null : status;
    } catch {
      // No network: the next try tells.
      return null;
    }
  }

  #end(outcome: Outcome): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#hears.over(outcome);
  }
}

/** `u16be n | n bytes of JSON | JPEG`. */
function frameOf(data: ArrayBuffer): Frame {
  const length = new DataView(data).getUint16(0);
  const head = JSON.parse(decoder.decode(new Uint8Array(data, 2, length))) as FrameHead;
  return { head, jpeg: new Uint8Array(data, 2 + length) };
}
