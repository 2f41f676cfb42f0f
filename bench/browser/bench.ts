import { judge } from "@svc/browser-pool/launch/fitness.ts";
import type { Options } from "../options.ts";
import { Report } from "../report/report.ts";
import { short, summaryText } from "../report/stats.ts";
import { Customer } from "../service/customer.ts";
import { Operator } from "../service/operator.ts";
import { Service } from "../service/service.ts";
import { startSite } from "../site/site.ts";
import { type AtCap, measureAtCap } from "./at-cap.ts";
import {
  type Contestant,
  NAMES,
  type Name,
  byRunServer,
  straightToPool,
  throughGateway,
} from "./contestants.ts";
import { type Footprint, measureFootprint } from "./footprint.ts";
import { type Samples, memoryGoals, middle, speedGoals } from "./goals.ts";
import { LonePool } from "./lone-pool.ts";
import { Rest } from "./rest.ts";
import { DEFAULT_N, WARM, WARM_UP, inRounds } from "./rounds.ts";
import { startRunServer } from "./run-server.ts";
import {
  MEASURES,
  type Measure,
  STEPS,
  SUMS,
  type Sample,
  TRAFFIC,
  stepsTrial,
  trafficTrial,
} from "./trial.ts";

/** Everybody in one interleaved run against one site, then the cap, then memory. */
export async function benchBrowser(options: Options): Promise<void> {
  const n = options.n ?? DEFAULT_N;
  const report = new Report(`browser, n = ${n} after ${WARM_UP} of warm-up`);
  const fitness = await judge(process.env.SVC_CHROMIUM ?? null);
  if ("hint" in fitness) throw new Error(fitness.hint);
  console.log(`Chromium ${fitness.version}, isolation ${fitness.isolation}`);
  const site = await startSite();
  const env = {
    SVC_EGRESS_ALLOW: site.address,
    SVC_WARM_FAST: String(WARM),
    SVC_WARM_STEALTH: "0",
  };
  const footprint = await measureFootprint(site.url, env);
  const service = await Service.start(env);
  const pool = await LonePool.start(env);
  const customer = new Customer(service.url, service.key);
  const contestants = [
    throughGateway(NAMES.gatewayWs, customer, "ws"),
    throughGateway(NAMES.gatewayCdp, customer, "cdp"),
    straightToPool(NAMES.poolWs, pool, "ws"),
    straightToPool(NAMES.poolCdp, pool, "cdp"),
    byRunServer(await startRunServer(fitness.programs.chromium)),
  ];
  const healths = [`${service.url}/health`, pool.health];
  const run = await compete(contestants, { n, siteUrl: site.url, healths });
  const operator = new Operator(service.url, service.adminToken);
  const atCap = await measureAtCap(operator, n, new Rest(healths, WARM));
  show(report, run, atCap, footprint);
  report.finish(options.json);
}

interface Run {
  samples: Samples;
  failures: { name: Name; error: string }[];
}

async function compete(
  contestants: Contestant[],
  { n, siteUrl, healths }: { n: number; siteUrl: string; healths: string[] },
): Promise<Run> {
  const run: Run = { samples: emptySamples(), failures: [] };
  const between = new Rest(healths, WARM);
  const within = new Rest(healths, WARM);
  const trials = [
    (who: Contestant) => stepsTrial(who, siteUrl),
    (who: Contestant) => trafficTrial(who, siteUrl, () => within.take("any")),
  ];
  await inRounds(contestants, n, async (who, counts) => {
    for (const measure of trials) {
      await between.take("none");
      const sample = await measure(who).catch((error: unknown) => failed(run, who, error));
      if (counts) add(run.samples[who.name], sample);
    }
  });
  return run;
}

function failed(run: Run, { name }: Contestant, error: unknown): Sample {
  run.failures.push({ name, error: String(error).slice(0, 300) });
  return {};
}

function add(samples: Record<Measure, number[]>, sample: Sample): void {
  for (const measure of MEASURES) {
    const ms = sample[measure];
    if (ms !== undefined) samples[measure].push(ms);
  }
}

function emptySamples(): Samples {
  const none = (): Record<Measure, number[]> => ({
    create: [],
    connect: [],
    goto: [],
    release: [],
    total: [],
    toPage: [],
    toLoaded: [],
    evaluates: [],
    bulk: [],
    screenshot: [],
  });
  return {
    [NAMES.gatewayWs]: none(),
    [NAMES.gatewayCdp]: none(),
    [NAMES.poolWs]: none(),
    [NAMES.poolCdp]: none(),
    [NAMES.runServer]: none(),
  };
}

function show(
  report: Report,
  { samples, failures }: Run,
  atCap: AtCap,
  footprint: Footprint,
): void {
  const names = Object.values(NAMES);
  const table = (title: string, measures: readonly Measure[]): void =>
    report.table(
      title,
      ["", ...measures],
      names.map((name) => [
        name,
        ...measures.map((measure) => summaryText(samples[name][measure])),
      ]),
    );
  table("The five steps: ms, median (p95 / p99)", STEPS);
  table("To the first page, and traffic: 50 evaluates, a result of 5 MB, a JPEG", [
    ...SUMS,
    ...TRAFFIC,
  ]);
  report.table(
    "To the first page loaded, against run-server",
    ["", "ratio"],
    names.map((name) => {
      const of = (who: Name): number => middle(samples, who, "toLoaded");
      return [name, of(name) / of(NAMES.runServer)];
    }),
  );
  report.table("Beside", ["what", ""], besides(atCap, footprint));
  if (failures.length > 0)
    report.table(
      "Failed trials",
      ["", "error"],
      failures.map(({ name, error }) => [name, error]),
    );
  report.goal(...speedGoals(samples, atCap.ms), ...memoryGoals(footprint));
  report.keep("browser", { samples, failures, atCap, footprint });
}

function besides(atCap: AtCap, footprint: Footprint): [string, string][] {
  const slots = footprint.slotMib.map((mib) => short(mib)).join(" ");
  return [
    ["create at cap after the ack, ms", summaryText(atCap.ms)],
    ["creates at cap refused after the ack", String(atCap.refused)],
    ["idle warm slots, PSS MiB each", slots],
    ["pool process with 5 idle slots, RSS MiB", short(footprint.poolIdleMib)],
    ["the same, one in use over /ws", short(footprint.poolInUseMib)],
    ["its Playwright beside it, PSS MiB each", footprint.playwrightMib.map(short).join(" ")],
  ];
}
