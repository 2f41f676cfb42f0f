import { LIMITS } from "@svc/contract/limits.ts";
import { chromium } from "playwright-core";
import { startPageOfRows } from "./page.ts";
import { replayOf } from "./replay.ts";
import type { Options } from "../options.ts";
import { Report } from "../report/report.ts";
import { median, summarize, summaryText } from "../report/stats.ts";
import type { Customer } from "../service/customer.ts";
import { Operator } from "../service/operator.ts";
import { Service } from "../service/service.ts";

const DEFAULT_N = 15;
const WARM_UP = 2;
const GOTOS = 5;
const BACK_TO_BACK = 100;
const GIVE_UP_MS = 20_000;

/** The cost of a recording for a page of 3,000 nodes, and the time from the end of a session to its replay. */
export async function benchRecording(options: Options): Promise<void> {
  const n = options.n ?? DEFAULT_N;
  const report = new Report(`recording, n = ${n} sessions of ${GOTOS} pages after ${WARM_UP}`);
  const site = await startPageOfRows();
  const env = { SVC_WARM_FAST: "2", SVC_WARM_STEALTH: "0", SVC_EGRESS_ALLOW: site.address };
  const service = await Service.start(env);
  const customer = await new Operator(service.url, service.adminToken).newCustomer();
  const samples = await pairsOf(n, customer, site.url);
  const { ready, lost } = await backToBack(customer, site.url);
  const rows = [
    ["without a recording", summaryText(samples.without)],
    ["with a recording", summaryText(samples.with)],
  ];
  report.table("goto of 3,000 nodes", ["session", "ms, median (p95 / p99)"], rows);
  report.table(
    "replay ready after DELETE",
    ["sessions", "ms, median (p95 / p99)"],
    [[String(ready.length), summaryText(ready)]],
  );
  const ratio = median(samples.ratios);
  report.goal(
    {
      what: "goto with a recording, of one without, median of pairs",
      got: ratio,
      limit: 1.2,
      unit: "x",
    },
    {
      what: "replay ready, p99",
      got: summarize(ready).p99,
      limit: LIMITS.replayReadyMs,
      unit: "ms",
    },
    { what: `replays missing of ${BACK_TO_BACK}`, got: lost, limit: 0, unit: "" },
  );
  report.keep("recording", { samples, ready });
  report.finish(options.json);
  site.close();
}

/** How long gotos take without a recording and with one, pair by pair, and the ratio of each pair. */
async function pairsOf(n: number, customer: Customer, url: string) {
  const samples = { without: [] as number[], with: [] as number[], ratios: [] as number[] };
  for (let round = -WARM_UP; round < n; round += 1) {
    // The two sessions of a pair follow each other at once: the computer's other work falls on both.
    const without = await gotosOf(customer, url, false);
    const recorded = await gotosOf(customer, url, true);
    if (round < 0) continue;
    samples.without.push(...without);
    samples.with.push(...recorded);
    samples.ratios.push(median(recorded) / median(without));
  }
  return samples;
}

/** Sessions one after the other: how long after its end each has its replay, and how many have none. */
async function backToBack(customer: Customer, url: string) {
  const ready: number[] = [];
  let lost = 0;
  for (let at = 0; at < BACK_TO_BACK; at += 1) {
    const tookMs = await readyAfter(customer, url, `word-${at}-end`);
    if (tookMs === null) lost += 1;
    else ready.push(tookMs);
  }
  return { ready, lost };
}

async function gotosOf(customer: Customer, url: string, recording: boolean): Promise<number[]> {
  const session = await customer.create({ recording });
  const browser = await chromium.connect(session.wsEndpoint);
  const page = browser.contexts()[0]?.pages()[0];
  const took: number[] = [];
  for (let at = 0; at < GOTOS; at += 1) {
    const began = performance.now();
    await page?.goto(`${url}${at}`);
    took.push(performance.now() - began);
  }
  await browser.close();
  await customer.release(session.sessionId);
  return took;
}

/** How long after its DELETE a session has a replay with its last words; null when it has none. */
async function readyAfter(customer: Customer, url: string, word: string): Promise<number | null> {
  const session = await customer.create({ recording: true });
  const browser = await chromium.connect(session.wsEndpoint);
  const page = browser.contexts()[0]?.pages()[0];
  await page?.goto(url);
  await page?.evaluate(`document.body.append("${word}")`);
  const began = performance.now();
  await customer.release(session.sessionId);
  const text = await replayOf(customer, session.sessionId, began + GIVE_UP_MS);
  const tookMs = performance.now() - began;
  await browser.close();
  return text?.includes(word) ? tookMs : null;
}
