import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { Rest } from "../browser/rest.ts";
import type { Options } from "../options.ts";
import { Report } from "../report/report.ts";
import { summarize, summaryText } from "../report/stats.ts";
import type { Customer } from "../service/customer.ts";
import { Operator } from "../service/operator.ts";
import { Program } from "../service/program.ts";
import { Service } from "../service/service.ts";
import { startSite } from "../site/site.ts";
import { ATTACKS } from "./attacks.ts";
import { Victim } from "./victim.ts";

const DEFAULT_ROUNDS = 3;
const WINDOW_MS = 5_000;
/** Two victims, one attacker, and room for what comes after a session. */
const WARM = 4;
/** Longer than the start of a Playwright. */
const PLAYWRIGHT_MS = 2_000;
const LIMIT = 1.5;

const KINDS = ["ws", "cdp"] as const;
type Kind = (typeof KINDS)[number];
type Trips = Record<Kind, number[]>;

interface Found {
  attack: string;
  quiet: Trips;
  hostile: Trips;
}

/** Round trips of one org, in turns alone and while another org does its worst. */
export async function benchNeighbour(options: Options): Promise<void> {
  const rounds = options.n ?? DEFAULT_ROUNDS;
  const [, only] = options.words;
  const report = new Report(`neighbour, ${rounds} rounds of ${WINDOW_MS} ms quiet and attacked`);
  const site = await startSite();
  const env = {
    SVC_EGRESS_ALLOW: site.address,
    SVC_WARM_FAST: String(WARM),
    SVC_WARM_STEALTH: "0",
  };
  const service = await Service.start(env);
  const operator = new Operator(service.url, service.adminToken);
  const [org, attacker] = [await operator.newCustomer(), await operator.newCustomer()];
  const settle = settling(`${service.url}/health`);
  const found: Found[] = [];
  for (const attack of Object.keys(ATTACKS).filter((name) => name.includes(only ?? ""))) {
    // Others than before: an attack may have cut their sockets.
    const victims = { ws: await Victim.start(org, "ws"), cdp: await Victim.start(org, "cdp") };
    const one: Found = { attack, quiet: { ws: [], cdp: [] }, hostile: { ws: [], cdp: [] } };
    for (let round = 0; round < rounds; round += 1) {
      await settle();
      await listen(victims, one.quiet);
      await underAttack(attacker, { attack, siteUrl: site.url }, settle, () =>
        listen(victims, one.hostile),
      );
    }
    for (const victim of Object.values(victims)) await victim.stop();
    found.push(one);
  }
  show(report, found);
  report.finish(options.json);
}

/** Waits until nothing is launched any more for what sessions have taken: not a browser, nor the Playwright kept warm. */
function settling(health: string): () => Promise<void> {
  const rest = new Rest([health], WARM);
  return async () => {
    await rest.take("any");
    await pause(PLAYWRIGHT_MS);
  };
}

async function listen(victims: Record<Kind, Victim>, into: Trips): Promise<void> {
  const each = await Promise.all(KINDS.map((kind) => victims[kind].roundTrips(WINDOW_MS)));
  for (const [at, kind] of KINDS.entries()) into[kind].push(...(each[at] ?? []));
}

/** Does `work` while another process attacks from a session of its own. */
async function underAttack(
  customer: Customer,
  order: { attack: string; siteUrl: string },
  settle: () => Promise<void>,
  work: () => Promise<void>,
): Promise<void> {
  const { sessionId, wsEndpoint, cdpEndpoint } = await customer.create();
  const program = new Program(["bench/neighbour/attacker.ts"]);
  await program.ready();
  await settle();
  const begun = once(program.child, "message");
  program.child.send({ ...order, wsEndpoint, cdpEndpoint });
  await begun;
  await work();
  await program.stop();
  await customer.release(sessionId);
}

function show(report: Report, found: Found[]): void {
  const cells = (of: Found, kind: Kind): string[] => [
    summaryText(of.quiet[kind]),
    summaryText(of.hostile[kind]),
  ];
  report.table(
    "Round trips of org B: ms, median (p95 / p99)",
    ["while org A sends", "/ws quiet", "/ws", "/cdp quiet", "/cdp"],
    found.map((one) => [one.attack, ...cells(one, "ws"), ...cells(one, "cdp")]),
  );
  const ratio = (one: Found, kind: Kind): number =>
    summarize(one.hostile[kind]).p99 / summarize(one.quiet[kind]).p99;
  const goals = found.flatMap((one) =>
    KINDS.map((kind) => ({
      what: `${one.attack}: p99 of /${kind} / quiet`,
      got: ratio(one, kind),
      limit: LIMIT,
      unit: "x",
    })),
  );
  report.goal(...goals);
  report.keep("neighbour", found);
}
