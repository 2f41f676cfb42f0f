import type { BrowserKind } from "@svc/contract/browser/session.ts";
import { type Refusal, refusal } from "@svc/contract/errors.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { atMost } from "./deadline.ts";
import type { Reserved } from "./org.ts";
import { findSlot, type Place, type Placement } from "./placement.ts";
import type { StoredSession } from "./session-duties.ts";
import type { SessionEvent } from "./states/session.ts";

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
  allowedDomains: string[] | null;
}

/** A created session, or a pool's own refusal to be forwarded as it is. */
export type CreateAnswer =
  | { created: { expiresAt: number } }
  | { rejected: { status: number; body: string } };

/** The part of a SessionDO that a create works on. */
export interface SessionDesk {
  begin(session: StoredSession): void;
  read(): StoredSession | null;
  apply(event: SessionEvent, place?: Place): StoredSession | null;
  /** Ends a slot that was found in vain, without keeping the customer waiting. */
  giveBack(place: Place): void;
}

/**
 * Reserve, find a slot, confirm; and on any failure undo what was done. A create that dies half way
 * (the object evicted) is undone by the `giveUp` timer and the host's next heartbeat.
 */
export async function createSession(
  env: Env,
  order: CreateSessionOrder,
  desk: SessionDesk,
): Promise<CreateAnswer | Refusal> {
  const expiresAt = order.createdAt + order.lifetimeMs;
  // Asked before the first write: a call leaves an object only once its writes so far are on disk. Dying
  // between the two is harmless, an unconfirmed claim lapses.
  const reserving = reserve(env, order, expiresAt);
  begin(desk, order, expiresAt);
  const refused = await reserving;
  if (refused) return refused;
  // Confirmed while a slot is looked for; a create that fails, or dies, drops the claim again.
  const confirming = confirm(env, order);
  const placement = await findSlot(env, {
    ...order,
    expiresAt,
    deadline: Date.now() + order.acquireMs,
    isWanted: () => desk.read()?.state.status === "creating",
  });
  if (placement.type === "placed") return conclude(desk, order, placement.place, confirming);
  return giveUp(placement);
}

/** When a create that nobody finished is void. */
const giveUpAt = (order: CreateSessionOrder): number =>
  order.createdAt + order.acquireMs + LIMITS.unconfirmedSlackMs;

function begin(desk: SessionDesk, order: CreateSessionOrder, expiresAt: number): void {
  const { id, org, kind, createdAt } = order;
  const isConfined = order.allowedDomains !== null;
  const state = { status: "creating", giveUpAt: giveUpAt(order) } as const;
  const nothing = { place: null, owed: [], retryAt: null };
  desk.begin({ id, org, kind, createdAt, expiresAt, isConfined, state, ...nothing });
}

async function reserve(
  env: Env,
  order: CreateSessionOrder,
  expiresAt: number,
): Promise<Refusal | null> {
  const { id, org, plan, cap, createdAt, kind: browserKind } = order;
  const lapsesAt = giveUpAt(order);
  const claim = { id, kind: "browser", cap, browserKind, createdAt, expiresAt, lapsesAt } as const;
  let answer: Reserved;
  try {
    answer = await atMost(LIMITS.objectCallMs, env.ORGS.getByName(org).reserve(claim));
  } catch {
    const text = "The concurrency of the org could not be checked. Try again.";
    return refusal("ConcurrencyCheckUnavailable", text);
  }
  if (answer.reserved) return null;
  const text = `The ${plan} plan allows ${cap} browsers at once. Release one and try again.`;
  const { holders } = answer;
  return refusal("ConcurrencyLimitExceeded", text, { plan, cap, kind: "browser", holders });
}

/** Whether the claim is kept; null when the org's object did not say. */
async function confirm(env: Env, { id, org }: CreateSessionOrder): Promise<boolean | null> {
  const asked = env.ORGS.getByName(org).confirm(id);
  return atMost(LIMITS.objectCallMs, asked).catch(() => null);
}

async function conclude(
  desk: SessionDesk,
  order: CreateSessionOrder,
  place: Place,
  confirming: Promise<boolean | null>,
): Promise<CreateAnswer | Refusal> {
  const { leaseIdleMs } = order;
  const expiresAt = order.createdAt + order.lifetimeMs;
  const confirmed = await confirming;
  const session = confirmed ? desk.apply({ type: "placed", expiresAt, leaseIdleMs }, place) : null;
  if (session?.state.status === "active") return { created: { expiresAt } };
  desk.giveBack(place);
  if (confirmed === null) {
    const text = "The concurrency of the org could not be confirmed. Try again.";
    return refusal("ConcurrencyCheckUnavailable", text);
  }
  const hint = "It was released while it was created, or its create took too long.";
  return refusal("AcquireTimeout", "The session is not wanted any more.", { hint });
}

function giveUp(placement: Exclude<Placement, { type: "placed" }>): CreateAnswer | Refusal {
  if (placement.type === "timeout") {
    const text = "No browser became available in time. Try again.";
    return refusal("AcquireTimeout", text, { hint: placement.hint });
  }
  const { status, body } = placement;
  return { rejected: { status, body } };
}
