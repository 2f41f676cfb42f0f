import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { PoolHeartbeat, type SlotReport } from "@svc/contract/host-protocol/heartbeat.ts";
import { HeartbeatGateway } from "../support/fakes/heartbeat-gateway.ts";

const POLL_MS = 5_000;
const MISSING = { status: 404, body: "gone", isHeld: undefined };

/** The smallest gateway that a pool can join, with objects to serve. */
export class Gateway extends HeartbeatGateway<PoolHeartbeat> {
  /** What it has under `/objects/`, by path: a status and a body. What is held is never answered. */
  readonly objects = new Map<string, { status: number; body: string; isHeld?: true }>();
  /** The headers of every request for one of them. */
  readonly asked: IncomingHttpHeaders[] = [];

  constructor() {
    super((body) => PoolHeartbeat.parse(body), POLL_MS);
  }

  /** The states of ended sessions that it was given, by the path, and with what it answers. */
  readonly profiles: { path: string; body: string }[] = [];
  profileAnswers: number[] = [];

  /** The report of a session, in the first heartbeat that shows it as wanted. */
  report(id: string, satisfies: (report: SlotReport) => boolean): Promise<SlotReport> {
    return this.found((beat) => beat.slots.find((slot) => slot.id === id && satisfies(slot)));
  }

  protected override answerOther(
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<boolean> {
    if (/^\/internal\/sessions\/[^/]+\/profile\//.test(request.url ?? "")) {
      return this.#store(request, response);
    }
    // It stores no replays.
    if (/^\/internal\/(objects|sessions)/.test(request.url ?? "")) {
      response.writeHead(503).end();
      return Promise.resolve(true);
    }
    if (!request.url?.startsWith("/objects/")) return Promise.resolve(false);
    this.asked.push(request.headers);
    const { status, body, isHeld } = this.objects.get(request.url) ?? MISSING;
    if (!isHeld) response.writeHead(status).end(body);
    return Promise.resolve(true);
  }

  async #store(request: IncomingMessage, response: ServerResponse): Promise<true> {
    const body = await text(request);
    const status = this.profileAnswers.shift() ?? 204;
    this.profiles.push({ path: request.url ?? "", body });
    response.writeHead(status).end(status === 204 ? "" : '{"code":"Refused"}');
    return true;
  }
}
