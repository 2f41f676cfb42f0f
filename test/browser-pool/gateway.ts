import {
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  createServer,
} from "node:http";
import type { AddressInfo } from "node:net";
import { PoolHeartbeat, type SlotReport } from "@svc/contract/host-protocol/heartbeat.ts";
import { readJson } from "@svc/host-kit/reply.ts";
import { serving } from "../support/fakes/serving.ts";

export const HOST_TOKEN = "test-host-token";

/** The smallest gateway that a pool can join: it records heartbeats and tells what to end. */
export class Gateway {
  readonly beats: PoolHeartbeat[] = [];
  /** What it has under `/objects/`, by path: a status and a body. */
  readonly objects = new Map<string, { status: number; body: string }>();
  /** The headers of every request for one of them. */
  readonly asked: IncomingHttpHeaders[] = [];
  /** Ids for the next answer. */
  end: string[] = [];
  /** What it answers; anything but 200 counts as away. */
  status = 200;
  readonly #server: Server;
  readonly #watchers = new Set<() => void>();
  #open = 0;
  /** The most heartbeats that were ever under way at once. */
  mostAtOnce = 0;
  /** How often it wants to hear of a pool that has no news. */
  pollMs = 5_000;
  /** While set, heartbeats wait for it before they are answered. */
  hold: Promise<void> | null = null;

  constructor() {
    this.#server = createServer(serving((request, response) => this.#answer(request, response)));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.url?.startsWith("/objects/")) {
      this.asked.push(request.headers);
      const { status, body } = this.objects.get(request.url) ?? { status: 404, body: "gone" };
      return void response.writeHead(status).end(body);
    }
    this.#open += 1;
    this.mostAtOnce = Math.max(this.mostAtOnce, this.#open);
    const beat = PoolHeartbeat.parse(await readJson(request, 1024 * 1024));
    const isGenuine = request.headers.authorization === `Bearer ${HOST_TOKEN}`;
    this.beats.push(beat);
    for (const watcher of this.#watchers) watcher();
    await this.hold;
    this.#open -= 1;
    response.writeHead(isGenuine ? this.status : 401, { "content-type": "application/json" });
    response.end(JSON.stringify({ end: this.end.splice(0), pollMs: this.pollMs }));
  }

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  get last(): PoolHeartbeat | undefined {
    return this.beats.at(-1);
  }

  /** The first heartbeat, from `since` on, that satisfies. */
  beat(
    satisfies: (beat: PoolHeartbeat) => boolean,
    since = this.beats.length - 1,
  ): Promise<PoolHeartbeat> {
    let next = Math.max(0, since);
    return new Promise((resolve) => {
      const look = (): void => {
        for (; next < this.beats.length; next += 1) {
          const beat = this.beats[next];
          if (!beat || !satisfies(beat)) continue;
          this.#watchers.delete(look);
          resolve(beat);
          return;
        }
      };
      this.#watchers.add(look);
      look();
    });
  }

  /** The report of a session, in the first heartbeat that shows it as wanted. */
  async report(id: string, satisfies: (report: SlotReport) => boolean): Promise<SlotReport> {
    const find = (beat: PoolHeartbeat) =>
      beat.slots.find((slot) => slot.id === id && satisfies(slot));
    const found = find(await this.beat((beat) => find(beat) !== undefined));
    if (!found) throw new Error("no report");
    return found;
  }
}
