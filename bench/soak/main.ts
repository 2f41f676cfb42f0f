import { type Options, readOptions } from "../options.ts";
import { Report } from "../report/report.ts";
import { runToEnd } from "../service/endings.ts";
import { Operator } from "../service/operator.ts";
import { Service } from "../service/service.ts";
import { startSite } from "../site/site.ts";
import { type Inventory, type Place, leftOver, takeRemains } from "./inventory.ts";
import { Killer } from "./killer.ts";
import { seeded } from "./random.ts";
import { SoakRecord } from "./record.ts";
import { reservationsOff } from "./reservations.ts";
import { NO_PROVIDER } from "./rules.ts";
import { PoolRuns } from "./runs.ts";
import { atRest, settle } from "./settle.ts";
import { missingReplays } from "./replays.ts";
import { readUsage, usageWritten } from "./usage.ts";
import { Visitor } from "./visitor.ts";

const USAGE =
  "npm run soak -- browser [sessions] [--kills N] [--seed N] [--kind stealth] [--rules] [--recording] [--json FILE]";
const DEFAULT_SESSIONS = 1_000;
const DEFAULT_SEED = 1;
const AT_ONCE = 4;
const WARM_UP = 8;
const ORPHANS = 2;
/** More than run at the same time with those that linger; few enough to fill in the end. */
const CAP = 16;
const WARM = 2;
const OUTPUT_LINES = 1_000;

await runToEnd(async () => {
  const options = readOptions(process.argv.slice(2));
  const [what, count] = options.words;
  const sessions = Number(count ?? DEFAULT_SESSIONS);
  if (what !== "browser" || !Number.isSafeInteger(sessions)) throw new Error(USAGE);
  await soak(sessions, options);
});

/** Sessions back to back under kills; then everything must be as it was before. */
async function soak(sessions: number, options: Options): Promise<void> {
  const seed = options.seed ?? DEFAULT_SEED;
  const isMixed = options.kind === "stealth";
  const hasRules = options.rules;
  const kills = options.kills ?? Math.ceil(sessions / 5);
  const report = new Report(`soak, ${sessions} sessions, ${kills} kills, seed ${seed}`);
  const site = await startSite();
  const service = await Service.start({
    SVC_EGRESS_ALLOW: site.address,
    SVC_PROXY_MOBILE_URL: NO_PROVIDER,
    SVC_WARM_FAST: String(hasRules ? 0 : WARM),
    SVC_MAX_FAST: String(CAP + WARM),
    SVC_WARM_STEALTH: String(isMixed || hasRules ? WARM : 0),
    SVC_MAX_STEALTH: String(CAP + WARM),
  });
  const operator = new Operator(service.url, service.adminToken);
  const customer = await operator.newCustomer({ browsers: CAP });
  const place = { service, customer, runs: new PoolRuns(service.scratch) };
  const { recording } = options;
  const visit = { customer, siteUrl: site.url, isMixed, hasRules, recording };
  const early = new SoakRecord();
  const first = new Visitor({ ...visit, record: early, orphans: 0 });
  await visitAll(first, WARM_UP, seed + 1, () => Promise.resolve());
  const before = await atRest(place);
  const began = performance.now();
  const record = new SoakRecord();
  record.created.push(...early.created);
  const visitor = new Visitor({ ...visit, record, orphans: ORPHANS });
  const killer = new Killer(service, operator, record, seeded(seed));
  await visitAll(visitor, sessions, seed, killsAt(seed, sessions, kills, killer));
  await killer.done();
  const ranMs = performance.now() - began;
  const found = await findings(place, before, record, recording);
  report.keep("output", saidBy(service));
  show(report, { before, found, record, ranMs, runs: place.runs.seen });
  report.finish(options.json);
}

/** What the service said of itself, without a line for each request. */
function saidBy(service: Service): string[] {
  const lines = service.supervisor.output.split("\n");
  return lines.filter((line) => !line.includes('"event":"request"')).slice(-OUTPUT_LINES);
}

/** Kills ordered at random places of the row of sessions. */
function killsAt(seed: number, sessions: number, kills: number, killer: Killer) {
  const random = seeded(seed + 2);
  const due = Array.from({ length: kills }, () => Math.floor(random() * sessions));
  return (session: number): Promise<void> => {
    for (const at of due) if (at === session) killer.order();
    return killer.caughtUp();
  };
}

async function visitAll(
  visitor: Visitor,
  sessions: number,
  seed: number,
  onStart: (session: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < sessions) {
      const session = next;
      next += 1;
      await onStart(session);
      // Each session has its own dice, so that it is the same whoever runs it.
      await visitor.visit(seeded(seed * 1_000_003 + session));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

/** All that is left, as far as it can be seen while the service runs and after its end. */
async function findings(
  place: Place,
  before: Inventory,
  record: SoakRecord,
  recording: boolean,
): Promise<Inventory> {
  const { service, customer, runs } = place;
  await settle(place, before);
  const off = await reservationsOff(customer, CAP);
  const settled = await settle(place, before);
  const replays = recording ? await missingReplays(customer, record) : {};
  record.counts["seconds until all was billed"] = await usageWritten(
    service.stateDir,
    record.created,
  );
  await service.stop();
  const remains = await takeRemains(place);
  runs.close();
  const { open, missing } = readUsage(service.stateDir, record.created);
  return {
    ...settled,
    ...replays,
    "reservations off": Math.abs(off),
    ...remains,
    "usage segments open": open,
    "usage segments missing": missing,
  };
}

interface Outcome {
  before: Inventory;
  found: Inventory;
  record: SoakRecord;
  ranMs: number;
  runs: number;
}

function show(report: Report, { before, found, record, ranMs, runs }: Outcome): void {
  const left = leftOver(before, found);
  const rows = Object.entries(found).map(([name, after]) => [
    name,
    before[name] ?? 0,
    after,
    left[name] || "",
  ]);
  report.table("What is there", ["", "before", "after", "left"], rows);
  const counts = Object.entries(record.counts).toSorted(([one], [other]) => (one < other ? -1 : 1));
  const seconds = ["seconds", Math.round(ranMs / 1000)];
  report.table("What happened", ["", "count"], [...counts, ["runs of the pool", runs], seconds]);
  const texts = record.anomalies.map((text) => [text]);
  if (texts.length > 0) report.table("Failed although nothing was killed", [""], texts);
  const all = Object.values(left).reduce((sum, count) => sum + count, 0);
  report.goal({ what: "left behind", got: all, limit: 0, unit: "" });
  const anomalies = record.counts["anomalies"] ?? 0;
  report.goal({ what: "anomalies", got: anomalies, limit: 0, unit: "" });
  report.keep("soak", { before, found, left, counts: record.counts, anomalies: record.anomalies });
  if (all > 0) process.exitCode = 1;
}
