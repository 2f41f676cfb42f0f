import type { HostRecord } from "@svc/contract/admin/hosts.ts";
import type { BrowserKind } from "@svc/contract/browser/session.ts";
import type { KindReport } from "@svc/contract/host-protocol/heartbeat.ts";
import { knownHosts } from "../fleet/registry.ts";

/** A pool that serves a kind and takes sessions, as the fleet last heard of it. */
export interface Pool {
  hostId: string;
  url: string;
  idle: number;
  /** Whether it serves the client's wire version. */
  speaks: boolean;
}

/** The pools that may have a slot. */
export interface Choice {
  /** Pools with an idle slot first, of these the ones that serve the client's wire version, then the emptiest. */
  pools: Pool[];
  /** Why none of them may have a slot. */
  why: string;
  /** Pools are registered, and none of them serves the kind: waiting for a slot of theirs is in vain. */
  isUnserved: boolean;
}

/** What a session asks of a pool. */
export interface PoolWish {
  kind: BrowserKind;
  wireVersion: string | null;
}

/** The pools for a session, likeliest first. */
export async function choiceFor(env: Env, { kind, wireVersion }: PoolWish): Promise<Choice> {
  // Without the registry there is nobody to ask: the next round tries again.
  const hosts = (await knownHosts(env)).filter(({ type }) => type === "pool");
  const pools = hosts.flatMap((host) => poolOf(host, kind, wireVersion));
  const hints = hosts.flatMap((host) => host.kinds?.[kind]?.hint ?? []);
  return {
    pools: pools.toSorted(byLikelihood),
    why: pools.length > 0 ? "Every slot is in use. Release a session." : (hints[0] ?? noPool(kind)),
    isUnserved: hosts.length > 0 && !hosts.some((host) => reportOf(host, kind)),
  };
}

/** Whether a pool serves a kind: it does not when it has only a hint for it. */
export const serves = ({ hint, idle, busy, recycling }: KindReport): boolean =>
  hint === undefined || idle + busy + recycling > 0;

function reportOf({ kinds }: HostRecord, kind: BrowserKind): KindReport | null {
  const report = kinds?.[kind];
  return report && serves(report) ? report : null;
}

function poolOf(host: HostRecord, kind: BrowserKind, wireVersion: string | null): Pool[] {
  const report = reportOf(host, kind);
  if (!report || host.draining) return [];
  const { hostId, url } = host;
  const speaks = wireVersion === null || (host.versions["wire"]?.includes(wireVersion) ?? false);
  return [{ hostId, url, idle: report.idle, speaks }];
}

function byLikelihood(left: Pool, right: Pool): number {
  const isIdle = ({ idle }: Pool): number => (idle > 0 ? 1 : 0);
  const isSpeaking = ({ speaks }: Pool): number => (speaks ? 1 : 0);
  return (
    isIdle(right) - isIdle(left) || isSpeaking(right) - isSpeaking(left) || right.idle - left.idle
  );
}

const noPool = (kind: BrowserKind): string =>
  `No registered browser pool serves ${kind} browsers. npm start says what each kind needs.`;
