import { once } from "node:events";
import { type Browser, type Page, chromium } from "playwright-core";
import { WebSocket } from "ws";

const MIB = 1024 * 1024;
const API_RESPONSES = 93;
/** Eight busy threads, for three seconds at a time. */
const SPIN = `(async () => {
  const code = URL.createObjectURL(new Blob(["for (;;);"]));
  const workers = Array.from({ length: 8 }, () => new Worker(code));
  await new Promise((resolve) => setTimeout(resolve, 3000));
  for (const worker of workers) worker.terminate();
})()`;

/** The session of an attacker, and the site that its browser reaches. */
export interface Grounds {
  wsEndpoint: string;
  cdpEndpoint: string;
  /** Ends in a slash. `bulk?mib=N` below it answers with so many MiB. */
  siteUrl: string;
}

/** Does one hostile thing once. Fails freely: how the service defends itself is not what is measured. */
export type Attack = (grounds: Grounds) => Promise<void>;

/** The attacks of an org on its neighbours, by the names that the tables show. */
export const ATTACKS: Record<string, Attack> = {
  "/cdp calls of 40 MiB": bigCalls(40),
  "/cdp calls of 95 MiB": bigCalls(95),
  "/cdp calls of 101 MiB": bigCalls(101),
  "/cdp calls of 250 MiB": bigCalls(250),
  "/cdp results of 40 MiB": bigResults(40),
  "/cdp results of 101 MiB": bigResults(101),
  "/ws arguments of 40 MiB": (grounds) => byWire(grounds, bigArgument),
  "/ws route without an end": (grounds) => byWire(grounds, endlessRoute),
  "/ws 93 API responses of 20 MiB": (grounds) => byWire(grounds, manyResponses),
  "a page that spins": (grounds) => byWire(grounds, spin),
};

function bigCalls(mib: number): Attack {
  return async ({ cdpEndpoint }) => {
    const head = Buffer.from('{"id":1,"method":"Runtime.evaluate","params":{"expression":"//');
    const tail = Buffer.from('"}}');
    const text = Buffer.concat([head, Buffer.alloc(mib * MIB - head.length, 0x78), tail]);
    await exchange(cdpEndpoint, text);
  };
}

function bigResults(mib: number): Attack {
  return async ({ cdpEndpoint }) => {
    const browser = await chromium.connectOverCDP(cdpEndpoint);
    try {
      const size = mib * MIB;
      await pageOf(browser).evaluate((length) => "x".repeat(length), size);
    } finally {
      await browser.close();
    }
  };
}

/** Sends one message, and waits for an answer or the end of the socket. */
async function exchange(url: string, text: Buffer): Promise<void> {
  // The mask of zeros costs the attacker nothing: its work is not to be measured.
  const socket = new WebSocket(url, { generateMask: (mask) => mask.fill(0) });
  const closed = once(socket, "close");
  socket.on("error", () => {});
  await once(socket, "open");
  socket.send(text, { binary: false });
  await Promise.race([once(socket, "message"), closed]);
  socket.close();
  await closed;
}

async function byWire(
  grounds: Grounds,
  attack: (page: Page, grounds: Grounds) => Promise<void>,
): Promise<void> {
  const browser = await chromium.connect(grounds.wsEndpoint);
  try {
    await attack(pageOf(browser), grounds);
  } finally {
    await browser.close();
  }
}

function pageOf(browser: Browser): Page {
  const page = browser.contexts()[0]?.pages()[0];
  if (!page) throw new Error("the session has no page");
  return page;
}

async function bigArgument(page: Page): Promise<void> {
  await page.evaluate((text) => text.length, "x".repeat(40 * MIB));
}

/** A pattern whose time doubles with each letter that almost matches. */
async function endlessRoute(page: Page, { siteUrl }: Grounds): Promise<void> {
  await page.route(/\/(a+)+$/, (route) => route.continue());
  await page.goto(`${siteUrl}${"a".repeat(40)}!`);
}

async function manyResponses(page: Page, { siteUrl }: Grounds): Promise<void> {
  for (let done = 0; done < API_RESPONSES; done += 1)
    await page.request.get(`${siteUrl}bulk?mib=20`);
}

async function spin(page: Page): Promise<void> {
  await page.evaluate(SPIN);
}
