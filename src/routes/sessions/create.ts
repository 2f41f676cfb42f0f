import type { ProxyWish } from "@svc/contract/browser/proxy.ts";
import type { SessionCreated } from "@svc/contract/browser/session.ts";
import type { StorageStateUrl } from "@svc/contract/browser/profile.ts";
import type { WayWish } from "@svc/contract/host-protocol/exits.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { mintSessionId } from "@svc/contract/tokens.ts";
import { accepted } from "../../accepted.ts";
import { expectReplay, forgetReplay } from "../../../control-plane/replays.ts";
import { storedStateOf } from "../../../control-plane/profiles.ts";
import { tried } from "../../../durable-objects/live/tried.ts";
import type { CreateAnswer, CreateSessionOrder } from "../../../durable-objects/session/create.ts";
import { type AppContext, baseUrlOf, type Handler } from "../../context.ts";
import { acquireTimeoutMs } from "../../env.ts";
import { reach } from "../../objects.ts";
import { objectUrl } from "../../object-url.ts";
import { readSession, type WantedSession } from "./read-create.ts";
import { endpointsOf } from "./record.ts";
import { checkCreate } from "./rules.ts";

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const DAY_MS = 24 * 60 * MINUTE_MS;

export const createSession: Handler = async (c) => {
  const wanted = await readSession(c);
  checkCreate(wanted, c.get("caller").plan);
  const storageStateUrl = await storageStateUrlOf(c, wanted.profileId);
  const order = await orderOf(c, wanted, storageStateUrl?.url ?? null);
  const answer = await placed(c, order);
  if ("rejected" in answer) return forward(answer.rejected);
  const body: SessionCreated = {
    sessionId: order.id,
    ...endpointsOf(baseUrlOf(c), order.id),
    expiresAt: new Date(answer.created.expiresAt).toISOString(),
    ...(storageStateUrl && { storageStateUrl }),
    // A proxy that is not applied never fails a create: the answer leaves it out.
    ...(answer.created.proxy && { proxy: answer.created.proxy }),
    // Nor does a solver that is missing or not at work.
    ...(wanted.captcha && { captcha: { active: answer.created.solvesCaptchas } }),
    ...(wanted.allowedDomains && { allowedDomains: wanted.allowedDomains }),
  };
  return c.json(body, 201);
};

/**
 * Places the session, and notes meanwhile that it will have a replay. A session whose note failed is released: nobody
 * would be told of its replay.
 */
async function placed(c: AppContext, order: CreateSessionOrder): Promise<CreateAnswer> {
  const session = c.env.SESSIONS.getByName(order.id);
  const creating = reach(() => session.create(order)).then((answer) => accepted(answer));
  if (order.recording === null) return creating;
  const { id, org: orgId, createdAt, lifetimeMs } = order;
  const { replayDays } = c.get("caller").plan;
  const facts = { id, orgId, endsAt: createdAt + lifetimeMs, keepMs: replayDays * DAY_MS };
  const [made, noted] = await Promise.allSettled([
    creating,
    expectReplay(c.env.DB, facts, createdAt),
  ]);
  const isMade = made.status === "fulfilled" && "created" in made.value;
  if (isMade && noted.status === "rejected") {
    c.executionCtx.waitUntil(tried("session_not_released", session.release()));
    throw noted.reason;
  }
  if (!isMade && noted.status === "fulfilled")
    c.executionCtx.waitUntil(tried("replay_not_forgotten", forgetReplay(c.env.DB, id)));
  if (made.status === "rejected") throw made.reason;
  return made.value;
}

/** Undefined without a profile; a `url` of null for a profile that was never saved. */
async function storageStateUrlOf(
  c: AppContext,
  profileId: string | null,
): Promise<StorageStateUrl | undefined> {
  if (profileId === null) return undefined;
  const key = await storedStateOf(c.env.DB, c.get("caller").orgId, profileId);
  if (key === null) return { url: null, expiresInSeconds: LIMITS.objectUrlMs / SECOND_MS };
  return objectUrl(c.env, baseUrlOf(c), { key, contentType: "application/json" });
}

async function orderOf(c: AppContext, wanted: WantedSession, stateUrl: string | null) {
  const { stealth, lease, wireVersion, allowedDomains = null, recording, mask } = wanted;
  const { orgId: org, plan, planName } = c.get("caller");
  const createdAt = Date.now();
  return {
    id: await mintSessionId(c.env.SVC_SIGNING_SECRET, { org, issuedAt: createdAt }),
    org,
    plan: planName,
    kind: stealth ? "stealth" : "fast",
    cap: plan.browsers,
    createdAt,
    lifetimeMs: plan.sessionMinutes * MINUTE_MS,
    acquireMs: acquireTimeoutMs(c.env),
    leaseIdleMs: lease ? lease.idleSeconds * SECOND_MS : null,
    wireVersion,
    allowedDomains,
    proxy: wayOf(wanted.proxy),
    captcha: wanted.captcha,
    recording: recording ? { ...(mask && { mask }) } : null,
    statePath: stateUrl && new URL(stateUrl).pathname,
    profileId: wanted.profileId,
    savesProfile: wanted.saveProfileOnRelease,
  } as const;
}

/** The way out that a session wishes. */
function wayOf(proxy: ProxyWish): WayWish | null {
  if (proxy.mode === "off") return null;
  if (proxy.mode === "smart") return "smart";
  const { mode: _mode, ...wish } = proxy;
  return wish;
}

/** A pool's own refusal: its status and body as they are, relabelled JSON (document 1, POST /sessions, other). */
function forward({ status, body }: { status: number; body: string }): Response {
  return new Response(body, { status, headers: { "content-type": "application/json" } });
}
