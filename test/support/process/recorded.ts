import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { ReplayUrl } from "@svc/contract/browser/replay.ts";
import { SessionCreated, SessionRecord } from "@svc/contract/browser/session.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { vi } from "vitest";
import * as z from "zod";
import type { TestGateway } from "./gateway.ts";

/** An event of a replay: an event of rrweb, and where it was. */
const ReplayEvent = z.looseObject({
  type: z.number(),
  data: z.looseObject({}),
  timestamp: z.number(),
  tabId: z.string().optional(),
  frameId: z.string().optional(),
});
export type ReplayEvent = z.infer<typeof ReplayEvent>;

/** The type of an event of rrweb that has a whole document. */
export const SNAPSHOT = 2;

/** A busy machine takes longer than one of the service. `bench -- recording` measures what is promised. */
const READY_MS = 60_000;
/** Longer than any session here lives. */
const END_MS = 180_000;

/** A replay as a customer has fetched it. */
export interface Replay {
  text: string;
  events: ReplayEvent[];
  /** The tabs that have a snapshot. */
  tabs: string[];
  url: ReplayUrl;
}

/** A customer whose sessions are recorded. */
export class RecordedCustomer {
  readonly #gateway: TestGateway;
  readonly #key: string;

  constructor(gateway: TestGateway, key: string) {
    this.#gateway = gateway;
    this.#key = key;
  }

  call(path: string, method = "GET", body: object | null = null): Promise<Response> {
    const headers = { authorization: `Bearer ${this.#key}` };
    const init = { method, headers, body: body && JSON.stringify(body) };
    return fetch(new URL(path, this.#gateway.url), init);
  }

  async create(ask: object = {}): Promise<SessionCreated> {
    const response = await this.call("/sessions", "POST", { recording: true, ...ask });
    if (response.status !== 201) throw new Error(`${response.status} ${await response.text()}`);
    return SessionCreated.parse(await response.json());
  }

  async release({ sessionId }: SessionCreated): Promise<void> {
    await this.call(`/sessions/${sessionId}`, "DELETE");
  }

  /** The answer of the replay-url route, while there is no replay. */
  async refusal({ sessionId }: SessionCreated): Promise<unknown> {
    return (await this.call(`/sessions/${sessionId}/replay-url`)).json();
  }

  /** Waits until a session has ended, which its own test may leave to the service. */
  async #ended(sessionId: string): Promise<void> {
    const isOver = async () => {
      const record = SessionRecord.parse(await (await this.call(`/sessions/${sessionId}`)).json());
      if (["active", "unknown"].includes(record.status)) throw new Error(record.status);
    };
    await vi.waitFor(isOver, { timeout: END_MS, interval: 50 });
  }

  /** Waits for the replay of a session as the document has it: by polling, from the session's end on. */
  async replay({ sessionId }: SessionCreated, waitMs = READY_MS): Promise<Replay> {
    await this.#ended(sessionId);
    const url = await vi.waitFor(
      async () => {
        const response = await this.call(`/sessions/${sessionId}/replay-url`);
        const body: unknown = await response.json();
        if (response.status !== 200) throw new Error(JSON.stringify(body));
        return ReplayUrl.parse(body);
      },
      { timeout: waitMs, interval: 100 },
    );
    const stored = await fetch(url.url);
    if (!stored.body) throw new Error("an empty replay");
    // As a web page would unpack it: stricter than Node's own way.
    const text = await new Response(
      stored.body.pipeThrough(new DecompressionStream("gzip")),
    ).text();
    const events = text.trimEnd().split("\n").map(parseEvent);
    const shown = events.filter(({ type }) => type === SNAPSHOT);
    return { text, events, tabs: [...new Set(shown.flatMap(({ tabId }) => tabId ?? []))], url };
  }
}

const parseEvent = (line: string): ReplayEvent => ReplayEvent.parse(JSON.parse(line));

/** A site whose pages are what their path says: `/page?<html>`. Answers under any name, so that origins can differ. */
export async function startEchoSite(headers: Record<string, string> = {}) {
  const server = createServer((request, response) => {
    const html = decodeURIComponent(new URL(request.url ?? "", "http://any").search.slice(1));
    response.writeHead(200, { "content-type": "text/html; charset=utf-8", ...headers });
    response.end(`<!doctype html>${html}`);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    addresses: `127.0.0.1:${port},localhost:${port}`,
    page: (html: string, host = "127.0.0.1") =>
      `http://${host}:${port}/page?${encodeURIComponent(html)}`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** How long a session without a client lives on after a clean close. */
export const { lingerMs: LINGER_MS } = LIMITS;
