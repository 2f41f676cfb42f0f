import { type IncomingMessage, type Server, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { readJson } from "@svc/host-kit/reply.ts";
import { serving } from "./serving.ts";
import { HOST_TOKEN } from "../secrets.ts";

/** The smallest gateway that a host can join: it records heartbeats and tells what to end. */
export class HeartbeatGateway<Beat> {
  readonly beats: Beat[] = [];
  /** Ids for the next answer. */
  end: string[] = [];
  /** Ids that it has not taken the report of, in each answer. */
  again: string[] = [];
  /** Status of its answers; anything but 200 counts as away. */
  status = 200;
  /** How often it wants to hear of a host that has no news. */
  pollMs: number;
  /** While set, heartbeats wait for it before they are answered. */
  hold: Promise<void> | null = null;
  /** The most heartbeats that were ever under way at once. */
  mostAtOnce = 0;
  readonly #parse: (body: unknown) => Beat;
  readonly #server: Server;
  readonly #watchers = new Set<() => void>();
  #open = 0;

  constructor(parse: (body: unknown) => Beat, pollMs: number) {
    this.#parse = parse;
    this.pollMs = pollMs;
    this.#server = createServer(serving((request, response) => this.#answer(request, response)));
  }

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  get last(): Beat | undefined {
    return this.beats.at(-1);
  }

  /** The first heartbeat, from `since` on, that satisfies. The last one may still say what was before. */
  beat(satisfies: (beat: Beat) => boolean, since = this.beats.length - 1): Promise<Beat> {
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

  /** The first report that `find` finds in a heartbeat, from `since` on. */
  async found<Report>(find: (beat: Beat) => Report | undefined, since?: number): Promise<Report> {
    const found = find(await this.beat((beat) => find(beat) !== undefined, since));
    if (found === undefined) throw new Error("no report");
    return found;
  }

  /** Answers a request that is no heartbeat. False: it is one. */
  protected answerOther(_request: IncomingMessage, _response: ServerResponse): Promise<boolean> {
    return Promise.resolve(false);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (await this.answerOther(request, response)) return;
    this.#open += 1;
    this.mostAtOnce = Math.max(this.mostAtOnce, this.#open);
    const beat = this.#parse(await readJson(request, 1024 * 1024));
    const isGenuine = request.headers.authorization === `Bearer ${HOST_TOKEN}`;
    this.beats.push(beat);
    for (const watcher of this.#watchers) watcher();
    await this.hold;
    this.#open -= 1;
    response.writeHead(isGenuine ? this.status : 401, { "content-type": "application/json" });
    const { again, pollMs } = this;
    response.end(JSON.stringify({ end: this.end.splice(0), again, pollMs }));
  }
}
