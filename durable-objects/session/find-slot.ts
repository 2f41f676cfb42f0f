import { ERRORS } from "@svc/contract/errors.ts";
import type { ProxyApplied } from "@svc/contract/browser/proxy.ts";
import { type Place, placeAt } from "../host-calls/place.ts";
import { type PlaceAnswer, placeSlot } from "../host-calls/slots.ts";
import { choiceFor, type Pool, type PoolWish } from "./pools.ts";

/** A session looking for a host. Times are ms since the epoch. */
export interface Seeker extends PoolWish {
  id: string;
  org: string;
  /** When its create began: of several that wait, the pool serves the one first that began first. */
  createdAt: number;
  expiresAt: number;
  statePath: string | null;
  profileId: string | null;
  savesProfile: boolean;
  deadline: number;
  /** Whether the slot is still wanted: a DELETE may come first. */
  isWanted(): boolean;
  /** Called when a host is at work on the session: there is time for what need not be done before. */
  onAsked(): void;
}

type Rejection = Extract<PlaceAnswer, { type: "rejected" }>;

/** A session that has a slot. */
export interface Placed {
  type: "placed";
  place: Place;
  /** The exit by which the session leaves; null: it leaves from the pool's host. */
  proxy: ProxyApplied | null;
  solvesCaptchas: boolean;
}

type Found = Placed | Rejection;

/**
 * `unserved`: pools are registered, and none of them serves such a session. `field`: of the request, when this deployment
 * has no means for it.
 */
export type Placement =
  | Found
  | { type: "timeout"; hint: string }
  | { type: "unserved"; text: string; hint: string; field: string | null };

/** Longest wait at the only pool: a new one is seen after it. */
const aloneMs = 5000;
/** Longest wait at one of several pools: a slot that is free at another one is seen soon, before those that came later get it. */
const amongMs = 1000;
/** Pause when no host can be asked, and the shortest wait that counts as one. */
const pauseMs = 250;

/**
 * Finds a slot: offers the session to the pools with idle slots, likeliest first, then waits at one of them all, until the
 * deadline.
 */
export function findSlot(env: Env, seeker: Seeker): Promise<Placement> {
  return new SlotSearch(env, seeker).run();
}

/** What a round of questions came to, unless it found a slot or a refusal: whether the session has waited in it. */
type Round = Found | { type: "none"; waited: boolean };

const MISMATCH = ERRORS.WireVersionMismatch.status;

/** The search of one session for a slot. */
class SlotSearch {
  readonly #env: Env;
  readonly #seeker: Seeker;
  /** By pool, its own word that it does not serve the client's wire version. Newer than what the fleet knows. */
  readonly #mismatches = new Map<string, Rejection>();
  /** Pools that have answered otherwise: they serve it. */
  readonly #speaking = new Set<string>();
  #hint = "";
  #asked = 0;

  constructor(env: Env, seeker: Seeker) {
    this.#env = env;
    this.#seeker = seeker;
  }

  async run(): Promise<Placement> {
    do {
      const { pools, why, unserved } = await choiceFor(this.#env, this.#seeker);
      this.#hint = why;
      if (unserved !== null) return { type: "unserved", ...unserved, hint: why };
      const round = await this.#askAll(pools);
      if (round.type !== "none") return round;
      if (!round.waited) await scheduler.wait(Math.min(pauseMs, this.#leftMs));
    } while (this.#goesOn);
    return { type: "timeout", hint: this.#hint };
  }

  get #leftMs(): number {
    return Math.max(0, this.#seeker.deadline - Date.now());
  }

  get #goesOn(): boolean {
    return this.#leftMs > 0 && this.#seeker.isWanted();
  }

  /** Asks the pools with an idle slot, then waits at one of the others, or at one whose slot was taken meanwhile. */
  async #askAll(pools: Pool[]): Promise<Round> {
    const isFree = (pool: Pool) => pool.idle > 0 && !this.#mismatches.has(pool.hostId);
    const taken: Pool[] = [];
    for (const pool of pools.filter(isFree)) {
      const answer = await this.#offer(pool, 0);
      if (answer?.type === "placed" || answer?.type === "rejected") return foundAt(pool, answer);
      if (answer?.type === "full") taken.push(pool);
    }
    const longestMs = pools.length > 1 ? amongMs : aloneMs;
    for (const pool of [...pools.filter((one) => !isFree(one)), ...taken]) {
      const begun = Date.now();
      const answer = await this.#offer(pool, Math.min(longestMs, this.#leftMs));
      if (answer?.type === "placed" || answer?.type === "rejected") return foundAt(pool, answer);
      // Time to look at the whole fleet again.
      if (answer?.type === "full") return { type: "none", waited: Date.now() - begun >= pauseMs };
    }
    return this.#commonMismatch(pools) ?? { type: "none", waited: false };
  }

  /** A pool's answer, unless the pool does not serve the client's wire version; null once the time is over. */
  async #offer(pool: Pool, acquireMs: number): Promise<PlaceAnswer | null> {
    if (this.#asked > 0 && !this.#goesOn) return null;
    this.#asked += 1;
    const answer = await offer(this.#env, this.#seeker, pool, acquireMs);
    const isMismatch = answer.type === "rejected" && answer.status === MISMATCH;
    if (answer.type === "unable") this.#hint = answer.hint;
    if (answer.type === "unreachable")
      this.#hint = "The browser pool cannot be reached. Try again.";
    if (answer.type !== "unreachable") this.#heard(pool, isMismatch ? answer : null);
    return isMismatch ? null : answer;
  }

  #heard({ hostId }: Pool, mismatch: Rejection | null): void {
    if (mismatch) this.#mismatches.set(hostId, mismatch);
    else this.#mismatches.delete(hostId);
    if (mismatch) this.#speaking.delete(hostId);
    else this.#speaking.add(hostId);
  }

  /** The first refusal of the client's wire version, when no pool serves it: by its own word, or else by the fleet's. */
  #commonMismatch(pools: Pool[]): Rejection | null {
    const mayServe = ({ hostId, speaks }: Pool): boolean =>
      !this.#mismatches.has(hostId) && (speaks || this.#speaking.has(hostId));
    if (pools.some(mayServe)) return null;
    const [first] = pools.flatMap(({ hostId }) => this.#mismatches.get(hostId) ?? []);
    return first ?? null;
  }
}

function foundAt(pool: Pool, answer: Extract<PlaceAnswer, { type: "placed" }> | Rejection): Found {
  if (answer.type !== "placed") return answer;
  const { slot } = answer;
  const solvesCaptchas = slot.captcha?.active ?? false;
  return { type: "placed", place: placeAt(pool, slot), proxy: slot.proxy ?? null, solvesCaptchas };
}

function offer(env: Env, seeker: Seeker, pool: Pool, acquireMs: number): Promise<PlaceAnswer> {
  const { id, org, kind, createdAt, expiresAt, wireVersion, statePath } = seeker;
  const saved = seeker.savesProfile ? seeker.profileId : null;
  const { allowedDomains, proxy, captcha, recording } = seeker;
  const body = {
    kind,
    expiresAt,
    acquireMs,
    waitingSince: createdAt,
    ...(wireVersion !== null && { wireVersion }),
    ...(allowedDomains !== null && { allowedDomains }),
    ...(proxy !== null && { proxy }),
    // Another pool may not know the wish, and would refuse it.
    ...(captcha && pool.solvesCaptchas && { captcha }),
    ...(recording !== null && { recording }),
    ...(statePath !== null && { profile: { statePath } }),
    ...(saved !== null && { saveProfile: saved }),
    onSent: () => seeker.onAsked(),
  };
  return placeSlot(env, pool.url, { org, id }, body);
}
