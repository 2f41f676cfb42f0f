import type { PoolHeartbeat } from "@svc/contract/host-protocol/heartbeat.ts";
import type { PoolConfig } from "./config.ts";
import { allowanceText } from "./egress/allowance.ts";
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
}

/** What the pool says of itself at this moment, with the next seq. */
export function snapshotOf({ pool, shelf, machine, config, served, url }: Parts): PoolHeartbeat {
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
    kinds: { fast: { ...counts, busy: pool.busy, ...(hint !== null && { hint }) } },
    ...(pool.isDraining && { draining: true }),
    slots: pool.reports(),
  };
}
