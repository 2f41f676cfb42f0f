import { judgeStealth } from "@svc/browser-pool/launch/stealth-fitness.ts";
import type { Options } from "../options.ts";
import { type Goal, Report } from "../report/report.ts";
import { median, short, summaryText } from "../report/stats.ts";
import { Customer } from "../service/customer.ts";
import { Service } from "../service/service.ts";
import { startSite } from "../site/site.ts";
import { type Contestant, throughGateway } from "./contestants.ts";
import { measureFootprint } from "./footprint.ts";
import { LonePool } from "./lone-pool.ts";
import { Rest } from "./rest.ts";
import { DEFAULT_N, WARM, WARM_UP, inRounds } from "./rounds.ts";
import {
  type Measure,
  STEPS,
  SUMS,
  type Sample,
  TRAFFIC,
  stepsTrial,
  trafficTrial,
} from "./trial.ts";

/** Launches of a pool that keeps nothing warm. */
const LAUNCHES = 10;

const NAMES = ["stealth /ws", "stealth /cdp", "fast /ws", "fast /cdp"] as const;
type Name = (typeof NAMES)[number];
type Samples = Record<Name, Sample[]>;

/** Both kinds in one interleaved run through the gateway; then launches and memory of kind `stealth`. */
export async function benchStealth(options: Options): Promise<void> {
  const n = options.n ?? DEFAULT_N;
  const report = new Report(`browsers of kind stealth, n = ${n} after ${WARM_UP} of warm-up`);
  const fitness = await judgeStealth(process.env.SVC_CHROMIUM_STEALTH ?? null);
  if ("hint" in fitness) throw new Error(fitness.hint);
  console.log(`Chromium ${fitness.version}, isolation ${fitness.isolation}`);
  const site = await startSite();
  const allow = { SVC_EGRESS_ALLOW: site.address };
  const footprint = await measureFootprint(site.url, allow, "stealth");
  const launches = await measureLaunches(allow);
  const warm = { SVC_WARM_FAST: String(WARM), SVC_WARM_STEALTH: String(WARM) };
  const samples = await compete(await Service.start({ ...allow, ...warm }), site.url, n);
  show(report, samples);
  const slots = footprint.slotMib.map((mib) => short(mib)).join(" ");
  report.table(
    "Beside",
    ["what", ""],
    [
      ["idle warm slots with their screens, PSS MiB each", slots],
      ["launch of a slot, ms", summaryText(launches)],
      ["pool process with 5 idle slots, RSS MiB", short(footprint.poolIdleMib)],
    ],
  );
  report.goal(...goalsOf(samples, launches, footprint.slotMib));
  report.keep("stealth", { samples, launches, footprint });
  report.finish(options.json);
}

async function compete(service: Service, siteUrl: string, n: number): Promise<Samples> {
  const customer = new Customer(service.url, service.key);
  const contestants: Contestant<Name>[] = [
    throughGateway("stealth /ws", customer, "ws", { stealth: true }),
    throughGateway("stealth /cdp", customer, "cdp", { stealth: true }),
    throughGateway("fast /ws", customer, "ws"),
    throughGateway("fast /cdp", customer, "cdp"),
  ];
  const samples: Samples = {
    "stealth /ws": [],
    "stealth /cdp": [],
    "fast /ws": [],
    "fast /cdp": [],
  };
  const rests = [
    new Rest([`${service.url}/health`], WARM, "stealth"),
    new Rest([`${service.url}/health`], WARM),
  ];
  const rest = async (sessions: "none" | "any"): Promise<void> => {
    for (const one of rests) await one.take(sessions);
  };
  await inRounds(contestants, n, async (who, counts) => {
    await rest("none");
    const steps = await stepsTrial(who, siteUrl);
    await rest("none");
    const traffic = await trafficTrial(who, siteUrl, () => rest("any"));
    if (counts) samples[who.name].push({ ...steps, ...traffic });
  });
  return samples;
}

/** How long a session waits for a browser that has yet to be launched. */
async function measureLaunches(env: Record<string, string>): Promise<number[]> {
  const pool = await LonePool.start({ ...env, SVC_WARM_FAST: "0", SVC_WARM_STEALTH: "0" });
  const rest = new Rest([pool.health], 0, "stealth");
  const took: number[] = [];
  for (let launch = 0; launch < LAUNCHES; launch += 1) {
    await rest.take("none");
    const began = performance.now();
    const id = await pool.place("stealth");
    took.push(performance.now() - began);
    await pool.release(id);
  }
  return took;
}

const valuesOf = (samples: Sample[], measure: Measure): number[] =>
  samples.flatMap((sample) => sample[measure] ?? []);

function show(report: Report, samples: Samples): void {
  const table = (title: string, measures: readonly Measure[]): void =>
    report.table(
      title,
      ["", ...measures],
      NAMES.map((name) => [
        name,
        ...measures.map((measure) => summaryText(valuesOf(samples[name], measure))),
      ]),
    );
  table("The five steps: ms, median (p95 / p99)", STEPS);
  table("To the first page, and traffic: 50 evaluates, a result of 5 MB, a JPEG", [
    ...SUMS,
    ...TRAFFIC,
  ]);
}

function goalsOf(samples: Samples, launches: number[], slotMib: number[]): Goal[] {
  const of = (name: Name, measure: Measure): number => median(valuesOf(samples[name], measure));
  const evaluates = (endpoint: "ws" | "cdp"): Goal => ({
    what: `stealth /${endpoint}: 50 evaluates / fast`,
    got: of(`stealth /${endpoint}`, "evaluates") / of(`fast /${endpoint}`, "evaluates"),
    limit: 1.3,
    unit: "x",
  });
  const first = (endpoint: "ws" | "cdp"): Goal => ({
    what: `stealth /${endpoint}: create to first page loaded, p50`,
    got: of(`stealth /${endpoint}`, "toLoaded"),
    limit: 150,
    unit: "ms",
  });
  return [
    first("ws"),
    first("cdp"),
    evaluates("ws"),
    evaluates("cdp"),
    {
      what: "idle warm slot with its screen, the largest, PSS",
      got: Math.max(...slotMib),
      limit: 260,
      unit: "MiB",
    },
    { what: "launch of a slot, p50", got: median(launches), limit: 1_500, unit: "ms" },
  ];
}
