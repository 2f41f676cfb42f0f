import type { PlaceSlot } from "@svc/contract/host-protocol/slots.ts";
import { ANY_EXIT } from "@svc/contract/host-protocol/exits.ts";
import { chromium } from "playwright-core";
import { LonePool } from "../browser/lone-pool.ts";
import { Rest } from "../browser/rest.ts";
import { WARM, inRounds } from "../browser/rounds.ts";
import type { Options } from "../options.ts";
import { Report } from "../report/report.ts";
import { median, summaryText } from "../report/stats.ts";
import { Program } from "../service/program.ts";
import { compareBulk } from "./bulk.ts";
import { HOME } from "./facts.ts";
import { swaps } from "./swap.ts";

const DEFAULT_N = 20;
const REPLACEMENTS = 200;
const SWAPS = 100;
const LIST = Array.from({ length: 100 }, (_, at) => `site-${at}.example`);

type Ask = Partial<PlaceSlot>;

/** The cost of allowed domains and managed proxies: creates, replacements, swaps, healed pages, bytes. */
export async function benchEgress(options: Options): Promise<void> {
  const n = options.n ?? DEFAULT_N;
  const report = new Report(`egress, n = ${n}`);
  const site = await new Program(["bench/egress/site.ts"]).ready();
  const tlsSite = await new Program(["bench/egress/tls-site.ts"]).ready();
  const proxy = await new Program(["bench/egress/proxy.ts"]).ready();
  const port = Number(new URL(site).port);
  const env = {
    SVC_PROXY_MOBILE_URL: `http://{country}-{session}:pw@${new URL(proxy).host}`,
    SVC_PROXY_CHECK: `${HOME}:${port}`,
  };
  const swapped = await swaps(SWAPS, port, env);
  const pool = await LonePool.start({
    ...env,
    SVC_EGRESS_ALLOW: `${HOME}:${port},${new URL(tlsSite).host}`,
    SVC_WARM_FAST: "1",
    SVC_WARM_STEALTH: String(WARM),
  });
  const [http, https] = [`http://localhost:${port}`, tlsSite.replace(HOME, "localhost")];
  const bulk = await compareBulk(pool, n, { http, https });
  const rest = new Rest([pool.health], WARM, "stealth");
  const creates = await compareCreates(pool, rest, n);
  const replaced = await replacements(pool, rest);
  const pages = await comparePages(pool, rest, n, `http://localhost:${port}`);
  const rows = {
    ...creates,
    "replacement of 100 domains": replaced,
    "proxy swap": swapped,
    ...pages,
  };
  report.table("Times", ["of", "ms, median (p95 / p99)"], textsOf(rows));
  report.table("One response", ["by", "MiB/s, median (p95 / p99)"], textsOf(bulk));
  setGoals(report, { ...rows, ...bulk });
  report.keep("egress", { ...rows, ...bulk });
  report.finish(options.json);
}

const textsOf = (samples: Record<string, number[]>): string[][] =>
  Object.entries(samples).map(([name, all]) => [name, summaryText(all)]);

function setGoals(report: Report, samples: Record<string, number[]>): void {
  const of = (name: string): number => median(samples[name] ?? []);
  report.goal(
    {
      what: "what domains and a proxy add to a create, p50",
      got: of("create, domains and proxy") - of("create, plain"),
      limit: 10,
      unit: "ms",
    },
    {
      what: "replacement of domains, p50",
      got: of("replacement of 100 domains"),
      limit: 20,
      unit: "ms",
    },
    { what: "proxy swap, p50", got: of("proxy swap"), limit: 50, unit: "ms" },
    { what: "healed page, p50", got: of("page, blocked and healed"), limit: 1000, unit: "ms" },
    {
      what: "bytes that a page reads behind the forwarder, against none",
      got: of("forwarder") / of("direct"),
      limit: 0.8,
      unit: "",
      wanted: "above",
    },
    {
      what: "the same over https",
      got: of("forwarder, https") / of("direct, https"),
      limit: 0.8,
      unit: "",
      wanted: "above",
    },
  );
}

async function compareCreates(
  pool: LonePool,
  rest: Rest,
  n: number,
): Promise<Record<string, number[]>> {
  const asks: Record<string, Ask> = {
    "create, plain": {},
    "create, domains and proxy": { allowedDomains: LIST, proxy: ANY_EXIT },
  };
  const samples: Record<string, number[]> = {};
  await inRounds(Object.entries(asks), n, async ([name, ask], counts) => {
    await rest.take("none");
    const began = performance.now();
    const id = await pool.place("stealth", ask);
    if (counts) (samples[name] ??= []).push(performance.now() - began);
    await pool.release(id);
  });
  return samples;
}

async function replacements(pool: LonePool, rest: Rest): Promise<number[]> {
  await rest.take("none");
  const id = await pool.place("stealth", { allowedDomains: LIST });
  const headers = { ...(await pool.headers(id)), "content-type": "application/json" };
  const url = new URL(`/slots/${id}/allowed-domains`, pool.url);
  const samples: number[] = [];
  for (let round = 0; round < REPLACEMENTS; round += 1) {
    const body = JSON.stringify({ domains: [...LIST, `round-${round}.example`] });
    const began = performance.now();
    const response = await fetch(url, { method: "POST", headers, body });
    await response.text();
    samples.push(performance.now() - began);
    if (!response.ok) throw new Error(`allowed-domains answered ${response.status}`);
  }
  await pool.release(id);
  return samples;
}

/** A page that is blocked, from its call to the healed page; beside it one that is not. */
async function comparePages(
  pool: LonePool,
  rest: Rest,
  n: number,
  site: string,
): Promise<Record<string, number[]>> {
  const samples: Record<string, number[]> = {};
  const paths = { "page, not blocked": "/open", "page, blocked and healed": "/" };
  await inRounds(Object.entries(paths), n, async ([name, path], counts) => {
    await rest.take("none");
    const id = await pool.place("stealth", { proxy: "smart" });
    const browser = await chromium.connectOverCDP(pool.endpoint("cdp", id), {
      headers: await pool.headers(id),
    });
    const page = browser.contexts()[0]?.pages()[0];
    if (!page) throw new Error("the session has no page");
    const began = performance.now();
    await page.goto(`${site}${path}`);
    await page.waitForSelector(path === "/" ? "h1" : "title", { state: "attached" });
    if (counts) (samples[name] ??= []).push(performance.now() - began);
    await browser.close();
    await pool.release(id);
  });
  return samples;
}
