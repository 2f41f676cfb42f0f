import type { Goal } from "../report/report.ts";
import { summarize } from "../report/stats.ts";
import { NAMES, type Name } from "./contestants.ts";
import type { Footprint } from "./footprint.ts";
import type { Measure } from "./trial.ts";

/** What was measured of each contestant, in ms. */
export type Samples = Record<Name, Record<Measure, number[]>>;

export function middle(samples: Samples, name: Name, measure: Measure): number {
  return summarize(samples[name][measure]).p50;
}

/** The bounds of speed: ratios of medians of one interleaved run. */
export function speedGoals(samples: Samples, atCapMs: number[]): Goal[] {
  const of = (name: Name, measure: Measure): number => middle(samples, name, measure);
  const ratio = (what: string, limit: number, measure: Measure, name: Name, to: Name): Goal => {
    return { what, got: of(name, measure) / of(to, measure), limit, unit: "x" };
  };
  const { gatewayWs, gatewayCdp, poolWs, poolCdp, runServer } = NAMES;
  const ours = [gatewayWs, gatewayCdp];
  const straight = { [gatewayWs]: poolWs, [gatewayCdp]: poolCdp } as const;
  const first = "create to first page loaded / run-server's connect to the same";
  return [
    ...ours.map((name) => ratio(`${name}: ${first}`, 0.35, "toLoaded", name, runServer)),
    ...ours.map((name) => absolute(`${name}: create, p50`, 20, of(name, "create"))),
    ...ours.map((name) => absolute(`${name}: DELETE ack, p50`, 10, of(name, "release"))),
    absolute("create at cap after the ack, p95", 50, summarize(atCapMs).p95),
    ratio("ours /ws: 50 evaluates / run-server", 1.15, "evaluates", gatewayWs, runServer),
    ratio("ours /cdp: 50 evaluates / run-server", 1, "evaluates", gatewayCdp, runServer),
    ...ours.map((name) => ratio(`${name}: goto / run-server`, 1.1, "goto", name, runServer)),
    ...ours.map((name) =>
      ratio(`${name}: screenshot / run-server`, 1.1, "screenshot", name, runServer),
    ),
    ...([gatewayWs, gatewayCdp] as const).flatMap((name) => [
      ratio(`${name}: 5 MB result / straight`, 1.2, "bulk", name, straight[name]),
      ratio(`${name}: screenshot / straight`, 1.2, "screenshot", name, straight[name]),
    ]),
  ];
}

export function memoryGoals({ slotMib, poolInUseMib }: Footprint): Goal[] {
  return [
    {
      what: "idle warm slot, the largest of 5, PSS",
      got: Math.max(...slotMib),
      limit: 100,
      unit: "MiB",
    },
    {
      what: "pool process with 5 slots, one over /ws, RSS",
      got: poolInUseMib,
      limit: 200,
      unit: "MiB",
    },
  ];
}

function absolute(what: string, limit: number, got: number): Goal {
  return { what, got, limit, unit: "ms" };
}
