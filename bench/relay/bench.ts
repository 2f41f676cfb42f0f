import { find } from "../machine/processes.ts";
import type { Options } from "../options.ts";
import { Report } from "../report/report.ts";
import { median, summaryText, summarize } from "../report/stats.ts";
import { startGateway } from "../service/lone-gateway.ts";
import { downloadRate, roundTrips, uploadRate } from "./client.ts";
import { type Stalled, measureStalled } from "./stalled.ts";
import { openUpstream } from "./upstream-session.ts";

const DEFAULT_N = 10;
const TRIPS = 300;
const TRIP_BYTES = 200;
const KIB = 1024;
const MIB = 1024 * KIB;
const BYTES = 128 * MIB;

/** The ways to the same upstream. */
const WAYS = ["direct", "gateway"] as const;
type Way = (typeof WAYS)[number];

const RATES = [
  { name: "64 KiB up", messageBytes: 64 * KIB, measure: uploadRate },
  { name: "64 KiB down", messageBytes: 64 * KIB, measure: downloadRate },
  { name: "1 MiB up", messageBytes: MIB, measure: uploadRate },
  { name: "1 MiB down", messageBytes: MIB, measure: downloadRate },
] as const;

interface Found {
  trips: number[];
  /** MiB/s by the names of RATES. */
  rates: Record<string, number[]>;
}

/** A client that stops reading, then round trips and throughput with and without the gateway, interleaved. */
export async function benchRelay(options: Options): Promise<void> {
  const n = options.n ?? DEFAULT_N;
  const report = new Report(`relay, ${n} rounds after one of warm-up`);
  const gateway = await startGateway();
  const { upstreamUrl, session } = await openUpstream(gateway);
  const urls = {
    direct: `${upstreamUrl.replace(/^http/, "ws")}/direct`,
    gateway: session.wsEndpoint,
  };
  const workerd = find("workerd", gateway.pid);
  if (!workerd) throw new Error("there is no workerd");
  // First: what the throughput leaves in workerd's memory would hide a growth.
  await roundTrips(urls.gateway, TRIPS, TRIP_BYTES);
  const stalled = await measureStalled(urls.gateway, upstreamUrl, workerd.pid);
  const found: Record<Way, Found> = { direct: empty(), gateway: empty() };
  for (let round = -1; round < n; round += 1) {
    for (const way of round % 2 === 0 ? WAYS : WAYS.toReversed()) {
      const into = round < 0 ? empty() : found[way];
      into.trips.push(...(await roundTrips(urls[way], TRIPS, TRIP_BYTES)));
      for (const { name, messageBytes, measure } of RATES)
        into.rates[name]?.push(await measure(urls[way], BYTES, messageBytes));
    }
  }
  show(report, found, stalled);
  report.finish(options.json);
}

function empty(): Found {
  return { trips: [], rates: Object.fromEntries(RATES.map(({ name }) => [name, []])) };
}

function show(report: Report, found: Record<Way, Found>, stalled: Stalled): void {
  const rate = (way: Way, name: string): number => median(found[way].rates[name] ?? []);
  const trip = (way: Way): number => summarize(found[way].trips).p50;
  report.table(
    "Round trip of 200 B in ms, median (p95 / p99), and throughput in MiB/s, median",
    ["", "200 B", ...RATES.map(({ name }) => name)],
    WAYS.map((way) => [
      way,
      summaryText(found[way].trips),
      ...RATES.map(({ name }) => rate(way, name)),
    ]),
  );
  report.table(
    "A client that stops reading while 1 GiB comes",
    ["workerd grows by, MiB", "sent nevertheless, MiB", "the rest after it reads again, s"],
    [[stalled.growthMib, stalled.sentMib, stalled.resumedMs / 1000]],
  );
  report.goal({
    what: "round trip p50, gateway - direct",
    got: trip("gateway") - trip("direct"),
    limit: 0.2,
    unit: "ms",
  });
  for (const name of ["64 KiB up", "64 KiB down"]) report.goal(rateGoal(name, rate));
  report.goal({
    what: "workerd under a stalled client",
    got: stalled.growthMib,
    limit: 64,
    unit: "MiB",
  });
  report.keep("relay", { found, stalled });
}

/** Either bound will do: the one that is nearer to being met is shown. */
function rateGoal(name: string, rate: (way: Way, name: string) => number) {
  const [direct, gateway] = [rate("direct", name), rate("gateway", name)];
  const share = { what: `${name}, share of direct`, got: gateway / direct, limit: 0.7, unit: "x" };
  const absolute = { what: `${name}, absolute`, got: gateway, limit: 250, unit: "MiB/s" };
  const isShare = share.got >= share.limit || share.got / share.limit > gateway / absolute.limit;
  return { ...(isShare ? share : absolute), wanted: "above" } as const;
}
