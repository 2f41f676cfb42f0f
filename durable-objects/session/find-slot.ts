import type { HostRecord } from "@svc/contract/admin/hosts.ts";
import type { BrowserKind } from "@svc/contract/browser/session.ts";
import type { KindReport } from "@svc/contract/host-protocol/heartbeat.ts";
import { knownHosts } from "../fleet/registry.ts";
import { type Place, placeAt } from "../host-calls/place.ts";
import { placeSlot } from "../host-calls/slots.ts";

/** A session looking for a host. Times are ms since the epoch. */
export interface Seeker {
  id: string;
  org: string;
  kind: BrowserKind;
  expiresAt: number;
  wireVersion: string | null;
  statePath: string | null;
  allowedDomains: string[] | null;
  deadline: number;
  /** Whether the slot is still wanted: a DELETE may come first. */
  isWanted(): boolean;
  /** Called when a host is at work on the session: there is time for what need not be done before. */
  onAsked(): void;
}

export type Placement =
  | { type: "placed"; place: Place }
  | { type: "rejected"; status: number; body: string }
  | { type: "timeout"; hint: string };

/** Longest wait at one host, so that a slot freed on another one is seen. */
const pollMs = 5000;
/** Pause when no host can be asked. */
const pauseMs = 250;

/**
 * Finds a slot: offers the session to the hosts with idle slots, the emptiest first, then waits at one
 * of the others, until the deadline.
 */
export async function findSlot(env: Env, seeker: Seeker): Promise<Placement> {
  let hint = "";
  do {
    const round = await tryOnce(env, seeker, await choiceFor(env, seeker.kind));
    if (round.type !== "none") return round;
    hint = round.hint;
    if (!round.waited) await scheduler.wait(Math.min(pauseMs, left(seeker)));
  } while (goesOn(seeker));
  return { type: "timeout", hint };
}

const goesOn = (seeker: Seeker): boolean => left(seeker) > 0 && seeker.isWanted();

type Round =
  | Exclude<Placement, { type: "timeout" }>
  | { type: "none"; hint: string; waited: boolean };

async function tryOnce(env: Env, seeker: Seeker, { pools, why }: Choice): Promise<Round> {
  let hint = why;
  for (const [at, pool] of pools.entries()) {
    if (at > 0 && !goesOn(seeker)) break;
    const acquireMs = pool.idle > 0 ? 0 : Math.min(pollMs, left(seeker));
    const answer = await offer(env, seeker, pool, acquireMs);
    switch (answer.type) {
      case "placed":
        return { type: "placed", place: placeAt(pool, answer.slot) };
      case "rejected":
        return answer;
      case "unable":
        hint = answer.hint;
        break;
      case "full":
        // The session has waited there: time to look at the whole fleet again.
        if (acquireMs > 0) return { type: "none", hint, waited: true };
        break;
      case "unreachable":
        hint = "The browser pool cannot be reached. Try again.";
        break;
    }
  }
  return { type: "none", hint, waited: false };
}

function offer(env: Env, seeker: Seeker, pool: Pool, acquireMs: number) {
  const { id, org, kind, expiresAt, wireVersion, statePath, allowedDomains } = seeker;
  const body = {
    kind,
    expiresAt,
    acquireMs,
    ...(wireVersion !== null && { wireVersion }),
    ...(allowedDomains !== null && { allowedDomains }),
    ...(statePath !== null && { profile: { statePath } }),
    onSent: () => seeker.onAsked(),
  };
  return placeSlot(env, pool.url, { org, id }, body);
}

interface Pool {
  hostId: string;
  url: string;
  idle: number;
}

/** Pools that serve a kind and take sessions, the emptiest first; and why none of them may have a slot. */
interface Choice {
  pools: Pool[];
  why: string;
}

async function choiceFor(env: Env, kind: BrowserKind): Promise<Choice> {
  // Without the registry there is nobody to ask: the next round tries again.
  const hosts = await knownHosts(env);
  const pools = hosts.flatMap((host) => poolOf(host, kind));
  const hints = hosts.flatMap((host) => host.kinds?.[kind]?.hint ?? []);
  return {
    pools: pools.toSorted((left, right) => right.idle - left.idle),
    why: pools.length > 0 ? "Every slot is in use. Release a session." : (hints[0] ?? noPool(kind)),
  };
}

function poolOf(host: HostRecord, kind: BrowserKind): Pool[] {
  const report = host.kinds?.[kind];
  if (!report || host.draining || !serves(report)) return [];
  return [{ hostId: host.hostId, url: host.url, idle: report.idle }];
}

/** Whether a pool serves a kind: it does not when it has only a hint for it. */
export const serves = ({ hint, idle, busy, recycling }: KindReport): boolean =>
  hint === undefined || idle + busy + recycling > 0;

const noPool = (kind: BrowserKind): string =>
  `No registered browser pool serves ${kind} browsers. npm start says what each kind needs.`;

const left = (seeker: Seeker): number => Math.max(0, seeker.deadline - Date.now());
