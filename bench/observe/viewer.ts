import { once } from "node:events";
import { decodeFrame } from "@svc/contract/browser/observer-frame.ts";
import { WebSocket } from "ws";

/** A frame that has come: when the browser drew it, and when it was here (ms since the epoch). */
export interface Arrival {
  drawnAt: number;
  at: number;
  bytes: number;
}

/** A viewer that acknowledges at once. */
export class Viewer {
  readonly arrivals: Arrival[] = [];
  readonly #socket: WebSocket;
  #onFrame: (() => void) | null = null;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on("message", (data: Buffer, isBinary) => this.#take(data, isBinary));
  }

  static async open(url: string, headers: Record<string, string> = {}): Promise<Viewer> {
    const socket = new WebSocket(url, { headers });
    const viewer = new Viewer(socket);
    await once(socket, "open");
    return viewer;
  }

  send(message: object): void {
    this.#socket.send(JSON.stringify(message));
  }

  /** Resolves with the next frame. */
  async next(): Promise<void> {
    await new Promise<void>((resolve) => (this.#onFrame = resolve));
  }

  close(): void {
    this.#socket.close();
  }

  #take(data: Buffer, isBinary: boolean): void {
    if (!isBinary) {
      const { type, seq }: { type: string; seq: number } = JSON.parse(String(data));
      if (type === "pages") this.send({ type: "ack", seq });
      return;
    }
    const head = decodeFrame(data)?.head;
    if (!head) throw new Error("a binary message that is no frame");
    this.send({ type: "ack", seq: head.seq });
    this.arrivals.push({ drawnAt: head.ts, at: Date.now(), bytes: data.length });
    this.#onFrame?.();
  }
}
