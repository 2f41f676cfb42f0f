import { Rest } from "../browser/rest.ts";
import { load } from "../gateway/load.ts";
import type { Options } from "../options.ts";
import { Report } from "../report/report.ts";
import { median, summarize, summaryText } from "../report/stats.ts";
import type { Customer, SessionAsk } from "../service/customer.ts";
import { Operator } from "../service/operator.ts";
import { Service } from "../service/service.ts";

const DEFAULT_N = 30;
const WARM_UP = 3;
const WARM = 2;
const COOKIES = 20;
const ORIGINS = 100;
/** Entries of localStorage that an origin has. */
const ENTRIES = 5;
/** The cap of the highest plan. */
const PROFILES = 250;
const LISTS = 500;

/** What a profile costs a create, against the same create without one, and the list of a full plan. */
export async function benchProfiles(options: Options): Promise<void> {
  const n = options.n ?? DEFAULT_N;
  const report = new Report(`profiles, n = ${n} after ${WARM_UP} of warm-up`);
  const service = await Service.start({ SVC_WARM_FAST: String(WARM), SVC_WARM_STEALTH: "0" });
  const customer = await new Operator(service.url, service.adminToken).newCustomer();
  const asks = {
    "no profile": {},
    "a profile never saved": { profileId: await customer.newProfile("empty") },
    [`${COOKIES} cookies`]: { profileId: await customer.newProfile("cookies", cookies()) },
    [`${ORIGINS} origins`]: { profileId: await customer.newProfile("origins", origins()) },
  };
  const creates = await compareCreates(customer, asks, n, service.url);
  const lists = await listFull(customer, Object.keys(asks).length - 1);
  const rows = Object.entries(creates).map(([name, ms]) => [name, summaryText(ms)]);
  report.table("POST /sessions", ["with", "ms, median (p95 / p99)"], rows);
  const listed = [`${PROFILES} profiles`, summaryText(lists)];
  report.table("GET /profiles", ["of", "ms, median (p95 / p99)"], [listed]);
  const bare = median(creates["no profile"] ?? []);
  const got = median(creates[`${COOKIES} cookies`] ?? []) - bare;
  report.goal(
    { what: "what a profile of cookies adds to a create, p50", got, limit: 25, unit: "ms" },
    {
      what: `profile of ${ORIGINS} origins: create p50`,
      got: median(creates[`${ORIGINS} origins`] ?? []),
      limit: 3000,
      unit: "ms",
    },
    { what: "GET /profiles, p50", got: summarize(lists).p50, limit: 10, unit: "ms" },
  );
  report.keep("profiles", { creates, lists });
  report.finish(options.json);
}

/** The creates in turn, each on a warm pool, so that all meet the same machine. */
async function compareCreates(
  customer: Customer,
  asks: Record<string, SessionAsk>,
  n: number,
  base: string,
): Promise<Record<string, number[]>> {
  const rest = new Rest([`${base}/health`], WARM);
  const samples = Object.fromEntries(
    Object.keys(asks).map((name): [string, number[]] => [name, []]),
  );
  for (let round = -WARM_UP; round < n; round += 1) {
    for (const [name, ask] of Object.entries(asks)) {
      await rest.take("none");
      const began = performance.now();
      const { sessionId } = await customer.create(ask);
      const took = performance.now() - began;
      if (round >= 0) samples[name]?.push(took);
      await customer.release(sessionId);
    }
  }
  return samples;
}

async function listFull(customer: Customer, already: number): Promise<number[]> {
  for (let at = already; at < PROFILES; at += 1) await customer.newProfile(`profile ${at}`);
  const url = new URL("/profiles", customer.base).href;
  const one = await load(url, customer.key, { connections: 1, count: LISTS });
  if (one.failures > 0) throw new Error(`${one.failures} lists failed`);
  return one.ms;
}

function cookies(): object {
  const cookie = (at: number) => ({
    name: `cookie-${at}`,
    value: "v".repeat(64),
    domain: `site-${at}.example`,
    path: "/",
    expires: -1,
    httpOnly: true,
    secure: true,
    sameSite: "Lax",
  });
  return { cookies: Array.from({ length: COOKIES }, (_, at) => cookie(at)), origins: [] };
}

/** Each origin is a site of its own: sites share no process. */
function origins(): object {
  const entry = (at: number) => ({ name: `entry-${at}`, value: "v".repeat(64) });
  const localStorage = Array.from({ length: ENTRIES }, (_, at) => entry(at));
  const origin = (at: number) => ({ origin: `https://www.site-${at}.example`, localStorage });
  return { cookies: [], origins: Array.from({ length: ORIGINS }, (_, at) => origin(at)) };
}
