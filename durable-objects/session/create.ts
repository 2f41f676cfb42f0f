import type { BrowserKind } from "@svc/contract/browser/session.ts";
import { type Refusal, refusal } from "@svc/contract/errors.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { atMost } from "../live/deadline.ts";
import type { Reserved } from "../org.ts";
import { findSlot, type Place, type Placement } from "./find-slot.ts";
import type { StoredSession } from "./perform.ts";
import type { SessionEvent } from "./transitions.ts";

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
  /** Known from now on, though not on disk yet. */
  begin(session: StoredSession): void;
  /** On disk from now on. */
  keep(): void;
  read(): StoredSession | null;
  apply(event: SessionEvent, place?: Place): StoredSession | null;
  /** Ends a slot that was found in vain, without keeping the customer waiting. */
  giveBack(place: Place): void;
}

/**
 * Reserve and find a slot; and on any failure undo what was done. Nothing is written before a host is at work on
 * it, for a new object's first write costs several syncs of the disk: of a create that dies half way (the object
 * evicted) the claim lapses, and the host's next heartbeat ends the slot. A session that is keeps its claim a
 * moment later, as one of its duties.
 */
export async function createSession(
  env: Env,
  order: CreateSessionOrder,
  desk: SessionDesk,
): Promise<CreateAnswer | Refusal> {
  const expiresAt = order.createdAt + order.lifetimeMs;
  begin(desk, order, expiresAt);
  const refused = await reserve(env, order, expiresAt);
  if (refused) return refused;
  const placement = await findSlot(env, {
    ...order,
    expiresAt,
    deadline: Date.now() + order.acquireMs,
    isWanted: () => desk.read()?.state.status === "creating",
    onAsked: () => desk.keep(),
  });
  if (placement.type === "placed") return conclude(desk, order, placement.place);
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
  const lapsesAt = giveUpAt(order) + LIMITS.unkeptMs;
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

function conclude(
  desk: SessionDesk,
  order: CreateSessionOrder,
  place: Place,
): CreateAnswer | Refusal {
  const { leaseIdleMs } = order;
  const expiresAt = order.createdAt + order.lifetimeMs;
  const session = desk.apply({ type: "placed", expiresAt, leaseIdleMs }, place);
  if (session?.state.status === "active") return { created: { expiresAt } };
  desk.giveBack(place);
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
