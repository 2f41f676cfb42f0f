import { onPath } from "@svc/browser-pool/launch/lookup.ts";
import { type Browser, type Page, chromium } from "playwright-core";
import type { LonePool } from "../browser/lone-pool.ts";
import { Rest } from "../browser/rest.ts";
import { inRounds } from "../browser/rounds.ts";
import { BULK_BYTES } from "./facts.ts";

const READ = `(async () => {
  const began = performance.now();
  const reader = (await fetch("/bulk")).body.getReader();
  let bytes = 0;
  for (let read = await reader.read(); !read.done; read = await reader.read()) bytes += read.value.length;
  return { bytes, ms: performance.now() - began };
})()`;

/** MiB a second that a page reads of one response: in a browser with nothing before it, and in one of the pool. */
export async function compareBulk(
  pool: LonePool,
  n: number,
  { http, https }: { http: string; https: string },
): Promise<Record<string, number[]>> {
  const program = await onPath("chromium-headless-shell");
  if (program === null) throw new Error("install chromium-headless-shell");
  const direct = await chromium.launch({ executablePath: program, args: ["--no-sandbox"] });
  const id = await pool.place("fast");
  const headers = await pool.headers(id);
  const behind = await chromium.connectOverCDP(pool.endpoint("cdp", id), { headers });
  // A pool that launches browsers meanwhile has no time for bytes.
  for (const kind of ["fast", "stealth"] as const)
    await new Rest([pool.health], 1, kind).take("any");
  const pages = {
    direct: await pageOf(direct, http),
    forwarder: await pageOf(behind, http),
    "direct, https": await pageOf(direct, https),
    "forwarder, https": await pageOf(behind, https),
  };
  const samples: Record<string, number[]> = {};
  await inRounds(Object.entries(pages), n, async ([who, page], counts) => {
    const speed = await speedIn(page);
    if (counts) (samples[who] ??= []).push(speed);
  });
  await direct.close();
  await behind.close();
  await pool.release(id);
  return samples;
}

async function pageOf(browser: Browser, site: string): Promise<Page> {
  const page = await browser.newPage({ ignoreHTTPSErrors: true });
  await page.goto(`${site}/open`);
  return page;
}

async function speedIn(page: Page): Promise<number> {
  const { bytes, ms } = await page.evaluate<{ bytes: number; ms: number }>(READ);
  if (bytes < BULK_BYTES) throw new Error(`only ${bytes} bytes have come`);
  return BULK_BYTES / 1024 ** 2 / (ms / 1_000);
}
