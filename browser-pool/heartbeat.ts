import type { BrowserKind } from "@svc/contract/browser/session.ts";
import type { KindReport, PoolHeartbeat } from "@svc/contract/host-protocol/heartbeat.ts";
import { allowanceText } from "@svc/host-kit/egress/allowance.ts";
import type { PoolConfig } from "./config.ts";
import type { HostFitness } from "./launch/host-fitness.ts";
import type { ServedVersions } from "./playwrights/served-versions.ts";
import type { CaptchaProvider } from "./captcha/provider.ts";
import type { Exits } from "./proxies/exits.ts";
import type { Sessions } from "./sessions/sessions.ts";
import type { Shelves } from "./slots/shelves.ts";

export interface HeartbeatParts {
  sessions: Sessions;
  shelves: Shelves;
  hostFitness: HostFitness;
  config: PoolConfig;
  served: ServedVersions;
  exits: Exits;
  /** Null: none is configured. */
  captcha: CaptchaProvider | null;
  url: string;
  /** Why browsers of a kind are not served; null when they are. */
  hintOf: (kind: BrowserKind) => string | null;
}

/** Builds the heartbeat of this moment, with the next sequence number. */
export function heartbeatOf(parts: HeartbeatParts): PoolHeartbeat {
  const { sessions, hostFitness, config, served, exits, captcha, url } = parts;
  return {
    type: "pool",
    bootId: sessions.bootId,
    seq: sessions.nextSeq(),
    url,
    versions: { chromium: hostFitness.version, wire: served.list },
    isolation: hostFitness.isolation,
    memoryCap: hostFitness.memoryCap,
    egressAllow: config.egressAllow.map(allowanceText),
    kinds: { fast: kindOf(parts, "fast"), stealth: kindOf(parts, "stealth") },
    // Browsers of kind fast have none.
    exits: config.shelves.stealth.most > 0 ? exits.offers : [],
    captcha: captcha?.isAtWork ?? false,
    keeps: sessions.keptWishes,
    ...(sessions.isDraining && { draining: true }),
    slots: sessions.reports(),
  };
}

function kindOf({ sessions, shelves, hintOf }: HeartbeatParts, kind: BrowserKind): KindReport {
  const hint = hintOf(kind);
  const busy = sessions.countOf(kind);
  return { ...shelves[kind].counts, busy, ...(hint !== null && { hint }) };
}
