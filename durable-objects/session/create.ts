import type { BrowserKind } from "@svc/contract/browser/session.ts";
import { type SlotRecording, wishesMs } from "@svc/contract/host-protocol/slots.ts";
import { type Refusal, refusal } from "@svc/contract/errors.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import type { ProxyApplied } from "@svc/contract/browser/proxy.ts";
import type { WayWish } from "@svc/contract/host-protocol/exits.ts";
import { endSlot } from "../host-calls/slots.ts";
import { tried } from "../live/tried.ts";
import { granted } from "../org/reserve.ts";
import { type Placed, findSlot } from "./find-slot.ts";
import type { LiveSession, StoredSession } from "./record.ts";

/** What a SessionDO is told to create. Times are ms. */
export interface CreateSessionOrder {
  id: string;
  org: string;
  plan: string;
  kind: BrowserKind;
  cap: number;
  createdAt: number;
  lifetimeMs: number;
  acquireMs: number;
  leaseIdleMs: number | null;
  wireVersion: string | null;
  /** Path at the gateway of the state to start with; null for none. */
  statePath: string | null;
  /** The profile that it begins with; null for none. */
  profileId: string | null;
  /** Whether that profile is saved when the session ends. */
  savesProfile: boolean;
  allowedDomains: string[] | null;
  /** The exit of the managed proxy that it wishes, or the ladder; null for none. */
  proxy: WayWish | null;
  /** Whether captchas are to be solved, where a pool can. */
  captcha: boolean;
  recording: SlotRecording | null;
}

/** A created session, or a pool's own refusal to be forwarded as it is. */
export type CreateAnswer =
  | { created: { expiresAt: number; proxy: ProxyApplied | null; solvesCaptchas: boolean } }
  | { rejected: { status: number; body: string } };

/**
 * Creates a session: reserves, finds a slot, and undoes what was done on any failure. Nothing is written before a host is
 * at work on it, for a new object's first write costs several syncs of the disk: of a create that dies half way (the
 * object evicted) the claim lapses, and the host's next heartbeat ends the slot. The reservation of a session that is
 * active is kept a moment later, as one of its duties.
 */
export async function createSession(
  live: LiveSession,
  order: CreateSessionOrder,
): Promise<CreateAnswer | Refusal> {
  live.record.begin(newSession(order));
  let isCreated = false;
  try {
    const answer = (await reserve(live, order)) ?? (await place(live, order));
    isCreated = "created" in answer;
    return answer;
  } finally {
    if (!isCreated) live.record.apply({ type: "createFailed" });
  }
}

const expiryOf = ({ createdAt, lifetimeMs }: CreateSessionOrder): number => createdAt + lifetimeMs;

/** When a create that nobody finished is void. */
function giveUpAt({ createdAt, acquireMs, ...order }: CreateSessionOrder): number {
  const { statePath, proxy, captcha, recording } = order;
  const has = {
    profile: statePath !== null,
    proxy: proxy !== null,
    captcha,
    recording: recording !== null,
  };
  return createdAt + acquireMs + wishesMs(has) + LIMITS.unconfirmedSlackMs;
}

function newSession(order: CreateSessionOrder): StoredSession {
  const { id, org, kind, createdAt, allowedDomains, profileId, recording } = order;
  const facts = { id, org, kind, createdAt, profileId, expiresAt: expiryOf(order) };
  const state = { status: "creating", giveUpAt: giveUpAt(order) } as const;
  const rules = { isConfined: allowedDomains !== null, isRecorded: recording !== null };
  return { ...facts, ...rules, state, place: null, owed: [], retryAt: null };
}

function reserve({ env }: LiveSession, order: CreateSessionOrder): Promise<Refusal | null> {
  const { id, org, plan, cap, createdAt, kind: browserKind } = order;
  const lapsesAt = giveUpAt(order) + LIMITS.unkeptMs;
  const facts = { id, kind: "browser", cap, browserKind, createdAt } as const;
  const asking = env.ORGS.getByName(org).reserve({
    ...facts,
    expiresAt: expiryOf(order),
    lapsesAt,
  });
  const text = `The ${plan} plan allows ${cap} browsers at once. Release one and try again.`;
  const unknown = "The concurrency of the org could not be checked. Try again.";
  return granted(
    asking,
    { plan, cap, kind: "browser", text },
    refusal("ConcurrencyCheckUnavailable", unknown),
  );
}

async function place(
  live: LiveSession,
  order: CreateSessionOrder,
): Promise<CreateAnswer | Refusal> {
  const { env, record } = live;
  const placement = await findSlot(env, {
    ...order,
    expiresAt: expiryOf(order),
    deadline: Date.now() + order.acquireMs,
    isWanted: () => record.load()?.state.status === "creating",
    onAsked: () => record.keep(),
  });
  switch (placement.type) {
    case "placed":
      return conclude(live, order, placement);
    case "timeout": {
      const text = "No browser became available in time. Try again.";
      return refusal("AcquireTimeout", text, { hint: placement.hint });
    }
    case "unserved": {
      const { text, hint, field } = placement;
      return field === null
        ? refusal("AcquireTimeout", text, { hint })
        : refusal("NotConfigured", text, { field });
    }
    case "rejected": {
      const { status, body } = placement;
      return { rejected: { status, body } };
    }
  }
}

function conclude(
  { env, record }: LiveSession,
  order: CreateSessionOrder,
  found: Placed,
): CreateAnswer | Refusal {
  const { leaseIdleMs } = order;
  const expiresAt = expiryOf(order);
  const { place, proxy, solvesCaptchas } = found;
  const facts = { place, placedAt: Date.now(), proxy };
  const session = record.apply({ type: "placed", expiresAt, leaseIdleMs }, facts);
  if (session?.state.status === "active") return { created: { expiresAt, proxy, solvesCaptchas } };
  // A slot that was found in vain: the customer does not wait for its end.
  record.later(tried("slot_not_given_back", endSlot(env, place.url, order)));
  const hint = "It was released while it was created, or its create took too long.";
  return refusal("AcquireTimeout", "The session is not wanted any more.", { hint });
}
