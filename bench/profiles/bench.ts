import { chromium } from "playwright-core";
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
/** Records of 5 KiB, in the database of one origin. */
const RECORDS = 1000;
const LARGE = "IndexedDB of 5 MB";
const FILL = `new Promise((resolve, reject) => {
  const open = indexedDB.open("large", 1);
  open.onupgradeneeded = () => open.result.createObjectStore("s");
  open.onerror = () => reject(open.error);
  open.onsuccess = () => {
    const write = open.result.transaction("s", "readwrite");
    for (let n = 0; n < ${RECORDS}; n += 1)
      write.objectStore("s").put({ at: new Date(n), text: "v".repeat(5 * 1024) }, n);
    write.oncomplete = () => (open.result.close(), resolve());
    write.onabort = () => reject(write.error);
  };
})`;
/** The cap of the highest plan. */
const PROFILES = 250;
const LISTS = 500;

/** What a profile costs a create, against the same create without one, and the list of a full plan. */
export async function benchProfiles(options: Options): Promise<void> {
  const n = options.n ?? DEFAULT_N;
  const report = new Report(`profiles, n = ${n} after ${WARM_UP} of warm-up`);
  const service = await Service.start({ SVC_WARM_FAST: String(WARM), SVC_WARM_STEALTH: "0" });
  const customer = await new Operator(service.url, service.adminToken).newCustomer();
  const asks = await asksOf(customer);
  const creates = await compareCreates(customer, asks, n, service.url);
  const saves = await saveMany(customer, asks[`${ORIGINS} origins`] ?? {}, n);
  const lists = await listFull(customer, Object.keys(asks).length - 1);
  const rows = Object.entries(creates).map(([name, ms]) => [name, summaryText(ms)]);
  report.table("POST /sessions", ["with", "ms, median (p95 / p99)"], rows);
  const saved = [`${ORIGINS} origins`, summaryText(saves)];
  report.table("POST /sessions/:id/save-profile", ["of", "ms, median (p95 / p99)"], [saved]);
  const listed = [`${PROFILES} profiles`, summaryText(lists)];
  report.table("GET /profiles", ["of", "ms, median (p95 / p99)"], [listed]);
  const costs = (name: string) => median(creates[name] ?? []) - median(creates["no profile"] ?? []);
  const got = costs(`${COOKIES} cookies`);
  report.goal(
    { what: "what a profile of cookies adds to a create, p50", got, limit: 25, unit: "ms" },
    { what: `what ${LARGE} adds to a create, p50`, got: costs(LARGE), limit: 500, unit: "ms" },
    {
      what: `profile of ${ORIGINS} origins: create p50`,
      got: median(creates[`${ORIGINS} origins`] ?? []),
      limit: 3000,
      unit: "ms",
    },
    { what: `save of ${ORIGINS} origins, p50`, got: median(saves), limit: 1000, unit: "ms" },
    { what: "GET /profiles, p50", got: summarize(lists).p50, limit: 10, unit: "ms" },
  );
  report.keep("profiles", { creates, saves, lists });
  report.finish(options.json);
}

/** The creates that are compared, by name. */
async function asksOf(customer: Customer): Promise<Record<string, SessionAsk>> {
  return {
    "no profile": {},
    "a profile never saved": { profileId: await customer.newProfile("empty") },
    [`${COOKIES} cookies`]: { profileId: await customer.newProfile("cookies", cookies()) },
    [`${ORIGINS} origins`]: { profileId: await customer.newProfile("origins", origins()) },
    [LARGE]: { profileId: await largeProfile(customer) },
  };
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

/** Saves the profile of a live session again and again. */
async function saveMany(customer: Customer, ask: SessionAsk, n: number): Promise<number[]> {
  const { sessionId } = await customer.create(ask);
  const ms: number[] = [];
  for (let round = -WARM_UP; round < n; round += 1) {
    const began = performance.now();
    await customer.saveProfile(sessionId);
    if (round >= 0) ms.push(performance.now() - began);
  }
  await customer.release(sessionId);
  return ms;
}

/** A profile as a browser leaves it that has stored 5 MB: such a state is larger than one that a customer sends. */
async function largeProfile(customer: Customer): Promise<string> {
  const profileId = await customer.newProfile("large");
  const session = await customer.create({ profileId });
  const browser = await chromium.connectOverCDP(session.cdpEndpoint);
  const page = browser.contexts()[0]?.pages()[0];
  if (!page) throw new Error("a new session has a page");
  await page.route("**/*", (route) => route.fulfill({ contentType: "text/html", body: "" }));
  await page.goto("https://large.example/");
  await page.evaluate(FILL);
  await customer.saveProfile(session.sessionId);
  await browser.close();
  await customer.release(session.sessionId);
  return profileId;
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
