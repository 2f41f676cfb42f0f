import type { PoolHeartbeat } from "@svc/contract/host-protocol/heartbeat.ts";
import { allowanceText } from "@svc/host-kit/egress/allowance.ts";
import type { PoolConfig } from "./config.ts";
import type { Machine } from "./machine.ts";
import type { Pool } from "./pool.ts";
import type { Shelf } from "./shelf.ts";
import type { ServedVersions } from "./wire/served.ts";

export interface Parts {
  pool: Pool;
  shelf: Shelf;
  machine: Machine;
  config: PoolConfig;
  served: ServedVersions;
  url: string;
  /** Why stealth browsers are not served. */
  stealthHint: string;
}

/** What the pool says of itself at this moment, with the next seq. */
export function snapshotOf(parts: Parts): PoolHeartbeat {
  const { pool, shelf, machine, config, served, url, stealthHint } = parts;
  const hint = machine.hint ?? shelf.hint;
  const counts = machine.hint ? { idle: 0, recycling: 0 } : shelf.counts;
  return {
    type: "pool",
    bootId: pool.bootId,
    seq: pool.nextSeq(),
    url,
    versions: { chromium: machine.version, wire: served.list },
    isolation: machine.isolation,
    memoryCap: machine.memoryCap,
    egressAllow: config.egressAllow.map(allowanceText),
    kinds: {
      fast: { ...counts, busy: pool.busy, ...(hint !== null && { hint }) },
      stealth: { idle: 0, busy: 0, recycling: 0, hint: stealthHint },
    },
    ...(pool.isDraining && { draining: true }),
    slots: pool.reports(),
  };
}
