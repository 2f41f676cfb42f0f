import type { BrowserKind } from "@svc/contract/browser/session.ts";
import type { PoolHeartbeat } from "@svc/contract/host-protocol/heartbeat.ts";
import { allowanceText } from "@svc/host-kit/egress/allowance.ts";
import type { PoolConfig } from "./config.ts";
import type { HostFitness } from "./launch/host-fitness.ts";
import type { ServedVersions } from "./playwrights/served-versions.ts";
import type { Sessions } from "./sessions/sessions.ts";
import type { WarmSlots } from "./slots/warm-slots.ts";

export interface HeartbeatParts {
  sessions: Sessions;
  warmSlots: WarmSlots;
  hostFitness: HostFitness;
  config: PoolConfig;
  served: ServedVersions;
  url: string;
  /** Why browsers of a kind are not served; null when they are. */
  hintOf: (kind: BrowserKind) => string | null;
}

/** Builds the heartbeat of this moment, with the next sequence number. */
export function heartbeatOf(parts: HeartbeatParts): PoolHeartbeat {
  const { sessions, warmSlots, hostFitness, config, served, url, hintOf } = parts;
  const [hint, stealthHint] = [hintOf("fast"), hintOf("stealth")];
  const counts = hostFitness.hint ? { idle: 0, recycling: 0 } : warmSlots.counts;
  return {
    type: "pool",
    bootId: sessions.bootId,
    seq: sessions.nextSeq(),
    url,
    versions: { chromium: hostFitness.version, wire: served.list },
    isolation: hostFitness.isolation,
    memoryCap: hostFitness.memoryCap,
    egressAllow: config.egressAllow.map(allowanceText),
    kinds: {
      fast: { ...counts, busy: sessions.count, ...(hint !== null && { hint }) },
      stealth: {
        idle: 0,
        busy: 0,
        recycling: 0,
        ...(stealthHint !== null && { hint: stealthHint }),
      },
    },
    ...(sessions.isDraining && { draining: true }),
    slots: sessions.reports(),
  };
}
