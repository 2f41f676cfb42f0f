import { type IncomingMessage, type Server, type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { VmHeartbeat, type VmReport } from "@svc/contract/host-protocol/vms.ts";
import { readJson } from "@svc/host-kit/reply.ts";
import { serving } from "../../support/fakes/serving.ts";
import { Objects } from "./objects.ts";

export const HOST_TOKEN = "test-host-token";
/** How often a host beats when nothing changes: a gateway says so, and tests that count beats wait for them. */
const POLL_MS = 1_000;

/** The smallest gateway that a VM host can join: it records heartbeats and tells what to end. */
export class Gateway {
  readonly beats: VmHeartbeat[] = [];
  /** Ids for the next answer. */
  end: string[] = [];
  objects: Objects;
  readonly #server: Server;
  readonly #watchers = new Set<() => void>();

  constructor(objects = new Objects()) {
    this.objects = objects;
    this.#server = createServer(serving((request, response) => this.#answer(request, response)));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (await this.objects.answer(request, response)) return;
    const beat = VmHeartbeat.parse(await readJson(request, 1024 * 1024));
    const isGenuine = request.headers.authorization === `Bearer ${HOST_TOKEN}`;
    this.beats.push(beat);
    for (const watcher of this.#watchers) watcher();
    response.writeHead(isGenuine ? 200 : 401, { "content-type": "application/json" });
    response.end(JSON.stringify({ end: this.end.splice(0), pollMs: POLL_MS }));
  }

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  get last(): VmHeartbeat | undefined {
    return this.beats.at(-1);
  }

  /** The first heartbeat, from `since` on, that satisfies. The last one may still say what was before. */
  beat(
    satisfies: (beat: VmHeartbeat) => boolean,
    since = this.beats.length - 1,
  ): Promise<VmHeartbeat> {
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

  /** The first report of a machine, from the heartbeat `since` on, that is as wanted. */
  async report(
    id: string,
    satisfies: (report: VmReport) => boolean,
    since?: number,
  ): Promise<VmReport> {
    const find = (beat: VmHeartbeat) => beat.vms.find((vm) => vm.id === id && satisfies(vm));
    const found = find(await this.beat((beat) => find(beat) !== undefined, since));
    if (!found) throw new Error("no report");
    return found;
  }
}
