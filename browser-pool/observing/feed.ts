import { once } from "node:events";
import { CLOSE_CODES } from "@svc/contract/close-codes.ts";
import { FEED_TICKET_HEADER, FeedOrder } from "@svc/contract/host-protocol/feed.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { type Log, messageOf } from "@svc/host-kit/log.ts";
import WebSocket from "ws";
import { inBrowser } from "../launch/in-browser.ts";
import type { Slot } from "../slots/slot.ts";
import { Observation } from "./observation.ts";

/** A gateway that reads nothing of the little that is on its way has gone. */
const MOST_WAITING_BYTES = 2 * LIMITS.framesUnacked * LIMITS.frameBytes;

/** A session that is to be watched. */
export interface Watched {
  id: string;
  slot: Slot;
}

export interface FeedOptions {
  gatewayUrl: string;
  hostToken: string;
  log: Log;
}

/** The socket by which a session is seen at the gateway, for as long as somebody watches there. */
export class Feed {
  readonly #socket: WebSocket;
  readonly #observation: Observation;

  private constructor(watched: Watched, ticket: string, options: FeedOptions) {
    const { gatewayUrl, hostToken, log } = options;
    const { number } = watched.slot;
    const path = `/internal/sessions/${encodeURIComponent(watched.id)}/feed`;
    const url = new URL(path, gatewayUrl.replace(/^http/, "ws"));
    const headers = { authorization: `Bearer ${hostToken}`, [FEED_TICKET_HEADER]: ticket };
    const limits = { maxPayload: LIMITS.feedOrderBytes, handshakeTimeout: LIMITS.feedOpenMs };
    const socket = new WebSocket(url, { headers, perMessageDeflate: false, ...limits });
    this.#socket = socket;
    this.#observation = new Observation(watched.slot.mux, {
      text: (message) => this.#send(JSON.stringify(message)),
      frame: (message) => this.#send(message),
      held: () => watched.slot.playwrights.giveWay(),
    });
    socket.on("message", (data, isBinary) => this.#hear(isBinary ? null : textOf(data)));
    // 'close' follows.
    socket.on("error", (error) =>
      log.warn({ slot: number, reason: messageOf(error) }, "feed_faulty"),
    );
    socket.once("close", () => this.#observation.close());
  }

  /** Dials in. Rejects when the gateway does not take the feed, or the browser dies. */
  static async open(watched: Watched, ticket: string, options: FeedOptions): Promise<Feed> {
    const feed = new Feed(watched, ticket, options);
    const opening = Promise.all([once(feed.#socket, "open"), feed.#observation.open()]);
    try {
      await inBrowser(opening, LIMITS.feedOpenMs, watched.slot.died);
      return feed;
    } catch (error) {
      feed.cut();
      throw error;
    }
  }

  /** Ends the feed with the reason for which its session ends. */
  end(code: number, reason: string): void {
    this.#observation.close();
    this.#socket.close(code, reason);
  }

  /** Ends the feed with no word. */
  cut(): void {
    this.#observation.close();
    this.#socket.terminate();
  }

  #hear(text: string | null): void {
    const order = FeedOrder.safeParse(text === null ? null : jsonOf(text)).data;
    if (order) this.#observation.obey(order);
    else this.end(CLOSE_CODES.protocolBroken, "This is no order of a feed.");
  }

  #send(message: string | Uint8Array): void {
    if (this.#socket.readyState !== WebSocket.OPEN) return;
    if (this.#socket.bufferedAmount > MOST_WAITING_BYTES) return this.cut();
    this.#socket.send(message);
  }
}

function textOf(data: WebSocket.RawData): string {
  return (Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data as Buffer)).toString();
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
