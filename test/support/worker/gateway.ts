import { createExecutionContext, runInDurableObject } from "cloudflare:test";
import { env, exports } from "cloudflare:workers";
import { KeyCreated, Org } from "@svc/contract/admin/orgs.ts";
import { SessionCreated } from "@svc/contract/browser/session.ts";
import { HeartbeatReply, type PoolHeartbeat } from "@svc/contract/host-protocol/heartbeat.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import type { PlanName, PlanOverrides } from "@svc/contract/plans.ts";
import { inject, onTestFinished } from "vitest";
import * as z from "zod";
import { fleet } from "../../../durable-objects/fleet/registry.ts";
import type { StoredHost } from "../../../durable-objects/host/reconcile.ts";
import { app } from "../../../src/app.ts";
import { ADMIN_TOKEN, HOST_TOKEN } from "../secrets.ts";

export const BASE = "http://svc.test";

/** How long a create looks for its place that does it `hastily`. */
export const HASTE_MS = 1500;
/** Longer than any test takes. */
const HEARD_MS = 600_000;

type Sent = RequestInit & { bearer?: string };

/** Calls the Worker under test. */
export function call(path: string, sent: Sent = {}): Promise<Response> {
  return exports.default.fetch(new URL(path, BASE), { ...shown(sent), redirect: "manual" });
}

/** As `call`, but a create gives up soon: for those that look for a place in vain. */
export async function hastily(path: string, sent: Sent = {}, ms = HASTE_MS): Promise<Response> {
  const bindings = { ...env, SVC_ACQUIRE_TIMEOUT_MS: String(ms) };
  const context = createExecutionContext();
  return app.request(new URL(path, BASE).href, shown(sent), bindings, context);
}

/**
 * For a test that asks for many things at once: on a slow computer the last of them waits for all the others, and
 * would be told that what it waits for fails.
 */
export function unhurried(): void {
  const { objectCallMs, hostAnswerMs } = LIMITS;
  Object.assign(LIMITS, { objectCallMs: 60_000, hostAnswerMs: 60_000 });
  onTestFinished(() => void Object.assign(LIMITS, { objectCallMs, hostAnswerMs }));
}

function shown({ bearer, ...init }: Sent): RequestInit {
  const headers = new Headers(init.headers);
  if (bearer !== undefined) headers.set("authorization", `Bearer ${bearer}`);
  return { ...init, headers };
}

/** A JSON body as `init`. */
export const json = (body: unknown, method = "POST") => ({ method, body: JSON.stringify(body) });

/** An org of its own with one key, made by the operator API. */
export async function newOrg(
  plan: PlanName = "free",
  overrides: PlanOverrides = {},
): Promise<{ orgId: string; keyId: string; key: string }> {
  const wanted = { name: "test", plan, overrides };
  const made = await call("/admin/orgs", { ...json(wanted), bearer: ADMIN_TOKEN });
  const { orgId } = Org.parse(await made.json());
  const answer = await call(`/admin/orgs/${orgId}/keys`, { method: "POST", bearer: ADMIN_TOKEN });
  return { orgId, ...KeyCreated.parse(await answer.json()) };
}

const Steered = z.object({
  calls: z.array(
    z.object({
      method: z.string(),
      path: z.string(),
      org: z.string().nullable(),
      body: z.unknown(),
    }),
  ),
  bootId: z.string(),
  seq: z.number(),
});

/** A fake pool over real sockets, and its heartbeats into the Worker. */
export class Pool {
  readonly hostId: string;
  readonly url: string;

  constructor(hostId: string, url: string) {
    this.hostId = hostId;
    this.url = url;
  }

  async steer(mode?: object): Promise<z.infer<typeof Steered>> {
    const response = await fetch(`${this.url}/control`, mode ? json(mode) : { method: "POST" });
    if (!response.ok) throw new Error(await response.text());
    return Steered.parse(await response.json());
  }

  async calls(): Promise<z.infer<typeof Steered>["calls"]> {
    return (await this.steer()).calls;
  }

  /** Sends a heartbeat; what is not said is an idle pool. */
  async beat(facts: Partial<PoolHeartbeat> = {}): Promise<HeartbeatReply> {
    const response = await this.post({ ...(await this.heartbeat()), ...facts });
    await keepHeard(this.hostId);
    return HeartbeatReply.parse(await response.json());
  }

  post(body: unknown, bearer = HOST_TOKEN): Promise<Response> {
    return call(`/internal/hosts/${this.hostId}/heartbeat`, { ...json(body), bearer });
  }

  /** The heartbeat that follows all placements so far. */
  async heartbeat(): Promise<PoolHeartbeat> {
    const { bootId, seq } = await this.steer();
    return {
      type: "pool",
      bootId,
      seq,
      url: this.url,
      versions: { chromium: "156", wire: ["1.65"] },
      isolation: "none",
      memoryCap: false,
      egressAllow: [],
      kinds: { fast: { idle: 5, busy: 0, recycling: 0 } },
      keeps: ["allowedDomains"],
      slots: [],
    };
  }
}

/**
 * A host that was just heard is not away in 15 s: on a slow computer that is less than a test takes. What is to
 * fall silent is made to, or beats by `post`.
 */
export function keepHeard(hostId: string): Promise<void> {
  return runInDurableObject(env.HOSTS.getByName(hostId), async (_object, { storage }) => {
    const host = storage.kv.get<StoredHost>("host");
    // What it owes is done soon.
    if (host?.owed.length === 0) await storage.setAlarm(Date.now() + HEARD_MS);
  });
}

let pools = 0;

/** A registered fake pool with idle slots, unless its first heartbeat says otherwise. */
export async function newPool(facts: Partial<PoolHeartbeat> = {}): Promise<Pool> {
  pools += 1;
  const url = await (await fetch(inject("fakePoolFarm"), { method: "POST" })).text();
  const pool = new Pool(`pool-${pools}`, url);
  await pool.beat(facts);
  return pool;
}

/** A slot as a heartbeat reports it. */
export const slotOf = (id: string, facts: object = {}) => ({
  id,
  kind: "fast" as const,
  opens: 0,
  closes: 0,
  lastActivityAt: 0,
  ...facts,
});

/** Takes every host out of the fleet, so that a test meets only its own. */
export async function clearFleet(): Promise<void> {
  for (const { hostId } of await fleet(env).list()) await fleet(env).remove(hostId);
}

/** Creates a session and answers its id. */
export async function newSession(key: string): Promise<string> {
  const response = await call("/sessions", { method: "POST", bearer: key });
  return SessionCreated.parse(await response.json()).sessionId;
}

/** What a refusal is told apart by. */
export const codeOf = async (
  response: Response,
): Promise<{ status: number; code: string | undefined }> => ({
  status: response.status,
  code: (await response.json<{ code?: string }>()).code,
});
