import type { Browser, Page } from "playwright-core";
import type { Contestant } from "./contestants.ts";

const EVALUATES = 50;
const VIEWPORT = { width: 1280, height: 720 };
const BULK_BYTES = 5 * 1024 * 1024;

/** What the trials measure, in ms. The steps are those of the public computesdk benchmark. */
export const STEPS = ["create", "connect", "goto", "release", "total"] as const;
/** Until the first page is at hand, and until it is loaded. */
export const SUMS = ["toPage", "toLoaded"] as const;
/** 50 evaluates, a result of 5 MB, a JPEG. */
export const TRAFFIC = ["evaluates", "bulk", "screenshot"] as const;
export const MEASURES = [...STEPS, ...SUMS, ...TRAFFIC] as const;
export type Measure = (typeof MEASURES)[number];
export type Sample = Partial<Record<Measure, number>>;

/** One browser from its create to its release, without a pause. */
export async function stepsTrial(contestant: Contestant<string>, siteUrl: string): Promise<Sample> {
  const [opened, create] = await timed(() => contestant.open());
  let browser: Browser | null = null;
  try {
    const [{ connected, page }, connect] = await timed(async () => {
      browser = await opened.connect();
      return { connected: browser, page: await opened.firstPage(browser) };
    });
    const [, goto] = await timed(() => page.goto(siteUrl, { waitUntil: "load" }));
    const [, release] = await timed(() => opened.release(connected));
    const toPage = create + connect;
    const toLoaded = toPage + goto;
    return { create, connect, goto, release, total: toLoaded + release, toPage, toLoaded };
  } finally {
    await closeQuietly(browser);
  }
}

/** What an open browser does. `rest` lets the pool launch what the create has taken. */
export async function trafficTrial(
  contestant: Contestant<string>,
  siteUrl: string,
  rest: () => Promise<void>,
): Promise<Sample> {
  const opened = await contestant.open();
  const browser = await opened.connect();
  try {
    const page = await opened.firstPage(browser);
    await page.goto(siteUrl, { waitUntil: "load" });
    // The same picture from everybody: Playwright emulates this viewport in the contexts that it makes itself. The window of
    // a whole browser is drawn anew for it, by the processor: that is no part of what is measured.
    await page.setViewportSize(VIEWPORT);
    await rest();
    return await measureTraffic(page);
  } finally {
    await opened.release(browser);
    await closeQuietly(browser);
  }
}

async function measureTraffic(page: Page): Promise<Sample> {
  const [, evaluates] = await timed(async () => {
    for (let done = 0; done < EVALUATES; done += 1) await page.evaluate(() => 1);
  });
  const [text, bulk] = await timed(() => page.evaluate((bytes) => "x".repeat(bytes), BULK_BYTES));
  if (text.length !== BULK_BYTES) throw new Error("the result was cut");
  const [, screenshot] = await timed(() => page.screenshot({ type: "jpeg" }));
  return { evaluates, bulk, screenshot };
}

async function timed<T>(work: () => Promise<T>): Promise<[T, number]> {
  const began = performance.now();
  const result = await work();
  return [result, performance.now() - began];
}

// Released already in most cases.
async function closeQuietly(browser: Browser | null): Promise<void> {
  await browser?.close().catch(() => undefined);
}
