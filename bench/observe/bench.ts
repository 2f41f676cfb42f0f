import { setTimeout as pause } from "node:timers/promises";
import { LiveToken } from "@svc/contract/browser/take-over.ts";
import { type Page, chromium } from "playwright-core";
import type { Options } from "../options.ts";
import { Report } from "../report/report.ts";
import { median, summarize, summaryText } from "../report/stats.ts";
import type { Customer } from "../service/customer.ts";
import { Operator } from "../service/operator.ts";
import { Service } from "../service/service.ts";
import { Crowd } from "./crowd.ts";
import { startPagesToWatch } from "./site.ts";
import { Viewer } from "./viewer.ts";

const DEFAULT_N = 10;
const WATCH_MS = 10_000;
const WARM_UP_MS = 1_000;
const VIEWERS = 10;
const EVALUATES = 300;
const KEYS_PER_ROUND = 5;
/** A page that has sent nothing for so long stands still. */
const STILL_MS = 300;

/** Frames of a watched page, how late they are and what they cost; and how soon a person who has taken over sees their own keys. */
export async function benchObserve(options: Options): Promise<void> {
  const n = options.n ?? DEFAULT_N;
  const report = new Report(`observe, n = ${n} rounds`);
  const site = await startPagesToWatch();
  const env = { SVC_WARM_FAST: "2", SVC_WARM_STEALTH: "0", SVC_EGRESS_ALLOW: site.address };
  const service = await Service.start(env);
  const customer = await new Operator(service.url, service.adminToken).newCustomer();
  const seen = await watching(customer, `${site.url}moving`);
  const { without, watched } = await evaluating(customer, `${site.url}moving`, n);
  const keys = await typing(customer, `${site.url}keys`, n * KEYS_PER_ROUND);
  report.table(
    "a page of 20 changes a second, one viewer at fps=20",
    ["frames/s", "behind, ms, median (p95 / p99)", "kB a frame"],
    [[seen.fps, summaryText(seen.behindMs), seen.kilobytes]],
  );
  report.table(
    `evaluate on that page, ms, median (p95 / p99), n = ${without.length}`,
    ["nobody watches", `${VIEWERS} viewers at fps=20`],
    [[summaryText(without), summaryText(watched)]],
  );
  report.table(
    "key to changed picture, ms, median (p95 / p99)",
    ["take-over"],
    [[summaryText(keys)]],
  );
  report.goal(
    { what: "frames a second of 20", got: seen.fps, limit: 15, unit: "", wanted: "above" },
    { what: "behind, p50", got: median(seen.behindMs), limit: 150, unit: "ms" },
    {
      what: `evaluate with ${VIEWERS} viewers, of one without, p50`,
      got: median(watched) / median(without),
      limit: 1.1,
      unit: "x",
    },
    { what: "key to changed picture, p50", got: summarize(keys).p50, limit: 150, unit: "ms" },
  );
  report.keep("observe", { seen, without, watched, keys });
  report.finish(options.json);
  site.close();
}

async function onPage<Result>(
  customer: Customer,
  url: string,
  work: (id: string, page: Page) => Promise<Result>,
): Promise<Result> {
  const session = await customer.create();
  const browser = await chromium.connect(session.wsEndpoint);
  const page = browser.contexts()[0]?.pages()[0];
  if (!page) throw new Error("a new session has a page");
  await page.goto(url);
  const result = await work(session.sessionId, page);
  await customer.release(session.sessionId);
  await browser.close();
  return result;
}

const watchUrl = ({ base }: Customer, id: string): string =>
  new URL(`/ws/observe/${id}?fps=20`, base.replace(/^http/, "ws")).href;

function watching(customer: Customer, url: string) {
  return onPage(customer, url, async (id) => {
    const authorization = `Bearer ${customer.key}`;
    const viewer = await Viewer.open(watchUrl(customer, id), { authorization });
    await pause(WARM_UP_MS);
    viewer.arrivals.length = 0;
    await pause(WATCH_MS);
    const arrivals = [...viewer.arrivals];
    viewer.close();
    const bytes = arrivals.reduce((sum, arrival) => sum + arrival.bytes, 0);
    return {
      fps: (arrivals.length * 1000) / WATCH_MS,
      behindMs: arrivals.map(({ drawnAt, at }) => at - drawnAt),
      kilobytes: bytes / 1000 / Math.max(1, arrivals.length),
    };
  });
}

/** Rounds take turns, so that what else runs here meets both alike. */
function evaluating(customer: Customer, url: string, n: number) {
  return onPage(customer, url, async (id, page) => {
    const without: number[] = [];
    const watched: number[] = [];
    for (let round = 0; round < n; round += 1) {
      without.push(...(await evaluates(page)));
      const url = watchUrl(customer, id);
      const crowd = await Crowd.open({ url, key: customer.key, viewers: VIEWERS });
      // The cost of viewers that come is not measured.
      await pause(WARM_UP_MS);
      watched.push(...(await evaluates(page)));
      await crowd.close();
      await pause(STILL_MS);
    }
    return { without, watched };
  });
}

async function evaluates(page: Page): Promise<number[]> {
  const took: number[] = [];
  for (let at = 0; at < EVALUATES; at += 1) {
    const began = performance.now();
    await page.evaluate("1");
    took.push(performance.now() - began);
  }
  return took;
}

function typing(customer: Customer, url: string, n: number): Promise<number[]> {
  return onPage(customer, url, async (id) => {
    const response = await fetch(new URL(`/sessions/${id}/live-token`, customer.base), {
      method: "POST",
      headers: { authorization: `Bearer ${customer.key}` },
    });
    const person = await Viewer.open(LiveToken.parse(await response.json()).url);
    const took: number[] = [];
    for (let at = 0; at < n; at += 1) {
      await stillness(person);
      const changed = person.next();
      const began = performance.now();
      person.send({ type: "key", action: "down", key: "a", code: "KeyA", text: "a" });
      await changed;
      took.push(performance.now() - began);
      person.send({ type: "key", action: "up", key: "a", code: "KeyA" });
    }
    person.close();
    return took;
  });
}

/** Resolves once no frame has come for a while. */
async function stillness({ arrivals }: Viewer): Promise<void> {
  for (let before = -1; before !== arrivals.length;) {
    before = arrivals.length;
    await pause(STILL_MS);
  }
}
