import type { HostRecord } from "@svc/contract/admin/hosts.ts";
import type { BrowserKind } from "@svc/contract/browser/session.ts";
import { type WayWish, canServe } from "@svc/contract/host-protocol/exits.ts";
import type { KindReport } from "@svc/contract/host-protocol/heartbeat.ts";
import { SLOT_WISHES, type SlotRecording } from "@svc/contract/host-protocol/slots.ts";
import { knownHosts } from "../fleet/registry.ts";

/** A pool that serves a kind and takes sessions, as the fleet last heard of it. */
export interface Pool {
  hostId: string;
  url: string;
  idle: number;
  /** Whether it serves the client's wire version. */
  speaks: boolean;
  /** Whether it has the exit of the managed proxy that the session wishes. */
  hasExit: boolean;
  /** Whether it solves captchas. */
  solvesCaptchas: boolean;
}

/** The pools that may have a slot. */
export interface Choice {
  /** Pools with an idle slot first, of these the ones with the wished exit, then those that solve captchas if that is wished, then those that serve the client's wire version, then the emptiest. */
  pools: Pool[];
  /** Why none of them may have a slot. */
  why: string;
  /** Pools are registered, and none of them serves such a session: waiting for a slot of theirs is in vain. Null: some do. */
  unserved: Unserved | null;
}

/** `field`: of the request, when this deployment has no means for it; null when it may have. */
interface Unserved {
  text: string;
  field: string | null;
}

/** What a session asks of a pool. */
export interface PoolWish {
  kind: BrowserKind;
  wireVersion: string | null;
  /** Null: no wish to be kept to domains. */
  allowedDomains: string[] | null;
  /** Null: the session leaves from the pool's host. */
  proxy: WayWish | null;
  /** Whether captchas are to be solved. */
  captcha: boolean;
  /** Null: no replay is wanted. */
  recording: SlotRecording | null;
}

const NO_RECORDING = {
  text: "recording is not available on this deployment.",
  field: "recording",
} satisfies Unserved;
const NO_DOMAINS = "No registered browser pool confines sessions to allowedDomains.";
const LEAVE_OUT_DOMAINS =
  "Create the session without allowedDomains, or register a pool that confines sessions to them.";

/** The pools for a session, likeliest first. */
export async function choiceFor(env: Env, wish: PoolWish): Promise<Choice> {
  const { kind } = wish;
  // Without the registry there is nobody to ask: the next round tries again.
  const hosts = (await knownHosts(env)).filter(({ type }) => type === "pool");
  const serving = hosts.filter((host) => reportOf(host, kind));
  const keeping = serving.filter((host) => keepsWishes(host, wish));
  const pools = keeping.flatMap((host) => poolOf(host, wish));
  const hints = hosts.flatMap((host) => host.kinds?.[kind]?.hint ?? []);
  const choice = { pools: pools.toSorted(byLikelihood), unserved: null };
  if (pools.length > 0) return { ...choice, why: "Every slot is in use. Release a session." };
  const why = hints[0] ?? noPool(kind);
  if (hosts.length === 0) return { ...choice, why };
  if (serving.length === 0)
    return { ...choice, why, unserved: { text: noKind(kind), field: null } };
  return keeping.length > 0 ? { ...choice, why } : { ...choice, ...unkept(serving, wish) };
}

/** What to say of wishes that no pool keeps together. */
function unkept(hosts: HostRecord[], { recording }: PoolWish): Pick<Choice, "why" | "unserved"> {
  const records = hosts.some(({ keeps = [] }) => keeps.includes("recording"));
  if (recording !== null && !records) return { why: NO_RECORDING.text, unserved: NO_RECORDING };
  return { why: LEAVE_OUT_DOMAINS, unserved: { text: NO_DOMAINS, field: null } };
}

/** Whether a pool serves a kind: it does not when it has only a hint for it. */
export const serves = ({ hint, idle, busy, recycling }: KindReport): boolean =>
  hint === undefined || idle + busy + recycling > 0;

function reportOf({ kinds }: HostRecord, kind: BrowserKind): KindReport | null {
  const report = kinds?.[kind];
  return report && serves(report) ? report : null;
}

/** Whether a pool says that it keeps what the session wishes. An older pool says nothing, and would drop the wish. */
function keepsWishes({ keeps = [] }: HostRecord, wish: PoolWish): boolean {
  return SLOT_WISHES.every((name) => wish[name] === null || keeps.includes(name));
}

function poolOf(host: HostRecord, { kind, wireVersion, proxy, captcha }: PoolWish): Pool[] {
  const report = reportOf(host, kind);
  if (!report || host.draining) return [];
  const { hostId, url } = host;
  const speaks = wireVersion === null || (host.versions["wire"]?.includes(wireVersion) ?? false);
  const hasExit = proxy === null || canServe(host.exits ?? [], proxy);
  const solvesCaptchas = captcha && host.captcha === true;
  return [{ hostId, url, idle: report.idle, speaks, hasExit, solvesCaptchas }];
}

function byLikelihood(left: Pool, right: Pool): number {
  const marks = ({ idle, hasExit, solvesCaptchas, speaks }: Pool): number =>
    (idle > 0 ? 8 : 0) + (hasExit ? 4 : 0) + (solvesCaptchas ? 2 : 0) + (speaks ? 1 : 0);
  return marks(right) - marks(left) || right.idle - left.idle;
}

const noKind = (kind: BrowserKind): string => `No registered browser pool serves ${kind} browsers.`;

const noPool = (kind: BrowserKind): string =>
  `${noKind(kind)} npm start says what each kind needs.`;
