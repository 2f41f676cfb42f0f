import type { BrowserKind, SessionCreated } from "@svc/contract/browser/session.ts";
import { type Browser, type Page, chromium } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { PATIENT, type TestGateway, testGateway } from "../support/process/gateway.ts";
import { missingKind } from "../support/process/needs.ts";
import { killIfThere } from "../support/process/process-tree.ts";
import { PoolProcess } from "../support/process/pool.ts";
import { CutLine } from "../support/process/cut-line.ts";
import { RecordedCustomer, type Replay, startEchoSite } from "../support/process/recorded.ts";

const site = await startEchoSite();
/** Longer than the work of eight sessions at once takes on a busy machine: one of half a core needs 40 s. */
const SHORT = { sessionMinutes: 1.5 };
vi.setConfig({ testTimeout: 400_000 });
let gateway: TestGateway;
let pool: PoolProcess;
let customer: RecordedCustomer;
let line: CutLine;
let hasty: RecordedCustomer;

beforeAll(async () => {
  gateway = await testGateway(PATIENT);
  customer = new RecordedCustomer(gateway, await gateway.newKey());
  line = await CutLine.open(gateway.url);
  hasty = new RecordedCustomer(gateway, await gateway.newKey("professional", SHORT));
});
afterAll(async () => {
  line.close();
  await gateway.close();
  site.close();
});

/** What a page shows, with the word that a replay is looked through for. */
const CONTENTS: Record<string, (page: Page, word: string) => Promise<unknown>> = {
  "a page that is gone to": async (page, word) => {
    await page.goto(site.page("<p>first</p>"));
    await page.evaluate(`document.body.append("${word}")`);
  },
  "content that is set": (page, word) => page.setContent(`<p>${word}</p>`),
  "a page where nothing changes": (page, word) => page.goto(site.page(`<p>${word}</p>`)),
  "200 mutations": async (page, word) => {
    await page.goto(site.page("<ul></ul>"));
    await page.evaluate(`for (let n = 1; n <= 200; n += 1) {
      const item = document.createElement("li");
      item.textContent = n === 200 ? "${word}" : n;
      document.querySelector("ul").append(item);
    }`);
  },
};

interface Run {
  session: SessionCreated;
  browser: Browser;
  pages: Page[];
}

/** Pages that close give their last events before: what they all have is with the pool then. */
async function flush({ pages }: Run): Promise<void> {
  const extra = await pages[0]?.context().newPage();
  await extra?.close();
}

const ENDS: Record<string, (run: Run) => Promise<unknown>> = {
  "whose client closes its pages": async ({ session, pages }) => {
    for (const page of pages) await page.close();
    await customer.release(session);
  },
  "whose client closes the browser": ({ browser }) => browser.close(),
  "that is deleted": ({ session }) => customer.release(session),
  // It would have its time to come back.
  "whose client is killed, and that is deleted then": async ({ session }) => {
    line.cut();
    await customer.release(session);
  },
  "whose deadline comes": async () => {},
  "whose browser is killed": async (run) => {
    await flush(run);
    // The session's browser is among them: the others wait for the next sessions, or are of a session that has just ended.
    for (const pid of await pool.processes("--remote-debugging-pipe")) killIfThere(pid);
  },
};

async function record(kind: BrowserKind, count: number, content: string, end: string) {
  const owner = end === "whose deadline comes" ? hasty : customer;
  const session = await owner.create({ stealth: kind === "stealth" });
  const browser = await chromium.connect(line.through(session.wsEndpoint));
  const [context] = browser.contexts();
  const pages = context?.pages() ?? [];
  while (context && pages.length < count) pages.push(await context.newPage());
  for (const [n, page] of pages.entries()) await CONTENTS[content]?.(page, `word-${n}-end`);
  await ENDS[end]?.({ session, browser, pages });
  const replay = await owner.replay(session);
  await browser.close();
  return replay;
}

/** The reason of a replay that ends without the last events of a page. */
const TOO_BUSY = "a page was too busy to give its last events";

/** Whether a replay has the words of so many pages, and whether it says where it has not. */
function judged({ text, tabs, events }: Replay, count: number) {
  const words = Array.from({ length: count }, (_, n) => `word-${n}-end`);
  const lost = words.filter((word) => !text.includes(word));
  const { tag, payload } = events.at(-1)?.data ?? {};
  const isCut = tag === "svc.cut" && JSON.stringify(payload).includes(TOO_BUSY);
  return {
    isWhole: lost.length === 0 && tabs.length >= count,
    isEnded: tag === "svc.end" || isCut,
    saysSo: isCut || text.includes("svc.gap"),
    lost,
    tag,
  };
}

for (const kind of ["fast", "stealth"] as const)
  describe.skipIf(await missingKind(kind))(`a ${kind} session`, () => {
    beforeAll(async () => {
      pool = await PoolProcess.start(gateway, {
        SVC_EGRESS_ALLOW: site.addresses,
        SVC_WARM_FAST: kind === "fast" ? "1" : "0",
        SVC_WARM_STEALTH: kind === "stealth" ? "1" : "0",
      });
    });
    afterAll(() => pool.close());
    let [count, whole] = [0, 0];

    describe.each(Object.keys(ENDS))("%s", (end) => {
      // Those of the deadline wait for time to pass: they wait together.
      const cells = end === "whose deadline comes" ? test.concurrent : test;
      cells.each(
        [1, 3].flatMap((count) =>
          Object.keys(CONTENTS).map((content) => [count, content] as const),
        ),
      )("has a replay of %i pages with %s, or says where it has not", async (pages, content) => {
        const found = judged(await record(kind, pages, content, end), pages);
        count += 1;
        whole += Number(found.isWhole);
        expect(found).toMatchObject({ isEnded: true });
        // On a busy computer a page may be too slow to give its last events: it is waited for so long and no longer.
        expect(found).toMatchObject(found.saysSo ? {} : { isWhole: true });
      });
    });

    test("has everything in most of these replays", () => {
      expect(whole).toBeGreaterThanOrEqual(0.75 * count);
    });
  });
