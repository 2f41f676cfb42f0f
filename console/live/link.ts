import type { HandoffStanding } from "@svc/contract/browser/handoff.ts";
import type { FrameHead, TextMessage } from "@svc/contract/browser/observer.ts";
import { CLOSE_CODES } from "@svc/contract/close-codes.ts";
import type { Pass } from "./token.ts";

/** A frame as it came. */
export interface Frame {
  head: FrameHead;
  jpeg: Uint8Array<ArrayBuffer>;
}

/** How a hand-off is over. `gone`: the session has ended. */
export type Outcome = Exclude<HandoffStanding["status"], "pending" | "active">;

/** The events that the page is told of. */
export interface Hears {
  frame: (frame: Frame) => Promise<void>;
  text: (message: TextMessage) => void;
  /** The connection is there: keys and clicks of the person arrive. */
  connected: () => void;
  /** The connection is gone until `connected`. `isTaken`: somebody else has the session. */
  away: (isTaken: boolean) => void;
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
    const standing = await this.#standing();
    const { status } = standing ?? {};
    if (status && status !== "pending" && status !== "active") return this.#end(status);
    let isTaken = standing?.hasPerson === true;
    const { alias, token } = this.#pass;
    const url = new URL(`/ws/live/${alias}`, location.href.replace(/^http/, "ws"));
    url.searchParams.set("token", token);
    const socket = new WebSocket(url);
    socket.binaryType = "arraybuffer";
    this.#socket = socket;
    socket.addEventListener("open", () => {
      this.#waitMs = SOONEST_MS;
      isTaken = false;
      this.#hears.connected();
    });
    socket.addEventListener("message", ({ data }: MessageEvent<string | ArrayBuffer>) =>
      this.#hear(data),
    );
    socket.addEventListener("close", ({ code }) => {
      this.#hears.away(isTaken);
      this.#closed(code);
    });
  }

  #hear(data: string | ArrayBuffer): void {
    if (typeof data !== "string") {
      const frame = frameOf(data);
      const { seq } = frame.head;
      // When it is drawn: a slow phone is sent fewer.
      const taken = (): void => this.send({ type: "ack", seq });
      return void this.#hears.frame(frame).then(taken, taken);
    }
    const message = JSON.parse(data) as TextMessage;
    if (message.type === "pages") this.send({ type: "ack", seq: message.seq });
    this.#hears.text(message);
  }

  #closed(code: number): void {
    if (code === CLOSE_CODES.tokenExpired) return this.#end("expired");
    if (code === CLOSE_CODES.gone || code === CLOSE_CODES.deadline) return this.#end("gone");
    setTimeout(() => void this.#connect(), code === CLOSE_CODES.normal ? 0 : this.#waitMs);
    this.#waitMs = Math.min(this.#waitMs * 2, LATEST_MS);
  }

  /** How the hand-off stands, by the gateway's clock; null: nobody can be asked. */
  async #standing(): Promise<HandoffStanding | null> {
    const { handoff, token } = this.#pass;
    const headers = { authorization: `Bearer ${token}` };
    try {
      const signal = AbortSignal.timeout(ANSWER_MS);
      const answer = await fetch(`/console/live/${handoff}/standing`, { headers, signal });
      if (answer.status === 401) return { status: "expired" };
      return answer.ok ? ((await answer.json()) as HandoffStanding) : null;
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
