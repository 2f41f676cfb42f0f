import { CreateSession, type SessionCreated } from "@svc/contract/browser/session.ts";
import { WIRE_VERSION_HEADER } from "@svc/contract/browser/wire-versions.ts";
import type { StorageStateUrl } from "@svc/contract/browser/profile.ts";
import { ApiError } from "@svc/contract/errors.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { mintSessionId } from "@svc/contract/tokens.ts";
import { accepted } from "../../accepted.ts";
import { storedStateOf } from "../../../control-plane/profiles.ts";
import { parseOptionalBody } from "../../body.ts";
import { type AppContext, baseUrlOf, type Handler } from "../../context.ts";
import { acquireTimeoutMs } from "../../env.ts";
import { reach } from "../../objects.ts";
import { objectUrl } from "../../object-url.ts";
import { endpointsOf } from "./record.ts";
import { checkCreate } from "./rules.ts";

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;

export const createSession: Handler = async (c) => {
  const wanted = await parseOptionalBody(c, CreateSession);
  checkCreate(wanted, c.get("caller").plan);
  const storageStateUrl = await storageStateUrlOf(c, wanted.profileId);
  const order = await orderOf(c, wanted, storageStateUrl?.url ?? null);
  const answer = accepted(await reach(() => c.env.SESSIONS.getByName(order.id).create(order)));
  if ("rejected" in answer) return forward(answer.rejected);
  const body: SessionCreated = {
    sessionId: order.id,
    ...endpointsOf(baseUrlOf(c), order.id),
    expiresAt: new Date(answer.created.expiresAt).toISOString(),
    ...(storageStateUrl && { storageStateUrl }),
    // No solver and no proxy is configured: that never fails a create, the answer says so.
    ...(wanted.captcha && { captcha: { active: false } }),
    ...(wanted.allowedDomains && { allowedDomains: wanted.allowedDomains }),
  };
  return c.json(body, 201);
};

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

async function orderOf(c: AppContext, wanted: CreateSession, stateUrl: string | null) {
  const { stealth, lease, allowedDomains = null } = wanted;
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
    wireVersion: wireVersionOf(c),
    allowedDomains,
    statePath: stateUrl && new URL(stateUrl).pathname,
  } as const;
}

/** The minor that a client says it speaks, such as `1.65`; null when it says nothing. */
function wireVersionOf(c: AppContext): string | null {
  const text = c.req.header(WIRE_VERSION_HEADER);
  if (text === undefined) return null;
  const minor = /^(\d{1,3}\.\d{1,4})(\.\d{1,4})?$/.exec(text)?.[1];
  if (minor !== undefined) return minor;
  const reason = `${WIRE_VERSION_HEADER}: a version such as 1.65`;
  throw new ApiError("ValidationError", reason, { field: WIRE_VERSION_HEADER });
}

/** A pool's own refusal: its status and body as they are, relabelled JSON (document 1, POST /sessions, other). */
function forward({ status, body }: { status: number; body: string }): Response {
  return new Response(body, { status, headers: { "content-type": "application/json" } });
}
