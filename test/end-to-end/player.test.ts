import { randomBytes } from "node:crypto";
import { gzipSync } from "node:zlib";
import { mintObjectToken } from "@svc/contract/tokens.ts";
import { type Browser, type FrameLocator, type Page, chromium } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { judge } from "../../browser-pool/launch/fitness.ts";
import { NONSENSE, hostileEvents, packed, shown } from "../support/hostile-replay.ts";
import { PATIENT, type TestGateway, testGateway } from "../support/process/gateway.ts";
import { missingBrowser } from "../support/process/needs.ts";
import { PoolProcess } from "../support/process/pool.ts";
import { RecordedCustomer, startEchoSite } from "../support/process/recorded.ts";
import { startTrap } from "../support/process/trap.ts";
import { SIGNING_SECRET } from "../support/secrets.ts";

const site = await startEchoSite();
const trap = await startTrap();
let gateway: TestGateway;
let viewer: Browser;
let page: Page;

/** The browser of a person who looks at replays: one of its own, with the protections that everybody's has. */
async function launchViewer(): Promise<Browser> {
  const fit = await judge(process.env.SVC_CHROMIUM || null);
  if ("hint" in fit) throw new Error(fit.hint);
  return chromium.launch({ executablePath: fit.programs.chromium, args: ["--no-sandbox"] });
}

/** Stores a replay as if a pool had, and returns the URL of its player. */
async function stored(bytes: Buffer): Promise<string> {
  const key = `replays/org_x/${randomBytes(8).toString("hex")}.ndjson.gz`;
  const bucket = await gateway.miniflare.getR2Bucket("OBJECTS", "gateway");
  await bucket.put(key, bytes);
  return playerUrl(key);
}

async function playerUrl(key: string, expiresAt = Date.now() + 60_000): Promise<string> {
  const token = await mintObjectToken(SIGNING_SECRET, { act: "play", key, expiresAt });
  return new URL(`/replay/${token}`, gateway.url).href;
}

const words = (text: string): object => ({
  type: 2,
  tagName: "p",
  attributes: {},
  id: 2_000_000,
  childNodes: [{ type: 3, textContent: text, id: 2_000_001 }],
});

/** Changes that pack badly, of a kilobyte each. */
const noise = (count: number): object[] =>
  Array.from({ length: count }, (_, n) => ({
    type: 3,
    data: {
      source: 0,
      texts: [],
      attributes: [{ id: 2_000_000, attributes: { title: randomBytes(768).toString("base64") } }],
      removes: [],
      adds: [],
    },
    timestamp: Date.now() + n,
    tabId: "tab",
  }));

const broken = (): object[] => [
  {
    type: 2,
    data: { node: { type: 2, tagName: "\0<", childNodes: 7 } },
    timestamp: 1,
    tabId: "tab",
  },
];

/** Unpacks to more than any page could hold, and has no line. */
function bomb(): Buffer {
  const part = gzipSync(Buffer.alloc(256 * 1024 ** 2, "a"), { level: 1 });
  return Buffer.concat(Array.from({ length: 16 }, () => part));
}

/** The page as it was recorded, inside the player. */
const recorded = (): FrameLocator => page.frameLocator(".replayer-wrapper iframe");
const note = () => page.locator(".note");

describe.skipIf(await missingBrowser())("the player", () => {
  beforeAll(async () => {
    gateway = await testGateway(PATIENT);
    viewer = await launchViewer();
  });
  afterAll(async () => {
    await viewer.close();
    await gateway.close();
    site.close();
    trap.close();
  });
  afterEach(() => page.close());

  test("plays what a real session showed, tab by tab, to its last words", async () => {
    const pool = await PoolProcess.start(gateway, {
      SVC_EGRESS_ALLOW: site.addresses,
      SVC_WARM_FAST: "1",
    });
    const customer = new RecordedCustomer(gateway, await gateway.newKey());
    const session = await customer.create();
    const browser = await chromium.connect(session.wsEndpoint);
    const [context] = browser.contexts();
    const [first] = context?.pages() ?? [];
    await first?.goto(site.page("<h1>the first words</h1>"));
    await first?.evaluate(`document.body.append("the last words")`);
    const second = await context?.newPage();
    await second?.goto(site.page("<h1>words of a second tab</h1>"));
    await customer.release(session);
    const { url } = await customer.replay(session);
    await browser.close();
    await pool.close();

    page = await viewer.newPage();
    await page.goto(url.playerUrl);
    await recorded().getByText("the last words").waitFor();
    const seen = await recorded().getByText("the first words").boundingBox();
    expect(seen?.width).toBeGreaterThan(0);
    if (process.env.SVC_KEEP_SCREENSHOT)
      await page.screenshot({ path: process.env.SVC_KEEP_SCREENSHOT });
    await page.getByRole("tab").nth(1).click();
    await recorded().getByText("words of a second tab").waitFor();
    const download = page.waitForEvent("download");
    await page.getByText("Download").click();
    expect((await download).suggestedFilename()).toBe("replay.ndjson.gz");
    expect(await note().count()).toBe(0);
  });

  test("runs no script of a recorded page and sends no request of it, whatever is pressed", async () => {
    page = await viewer.newPage();
    const url = await stored(packed(hostileEvents(trap.url, "the last words"), NONSENSE));
    await page.goto(url);
    await recorded().getByText("the last words").waitFor();
    await page.mouse.click(300, 300);
    for (let n = 0; n < 30; n += 1) await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.getByRole("tab").first().click();
    await recorded().getByText("the last words").waitFor();
    // Later than all that came before: what they had made ahead would have arrived.
    await page.goto(site.page(`<img src="${trap.url}/control">`), { waitUntil: "networkidle" });
    expect(trap.seen).toEqual(["connection", "GET /control"]);
    expect(page.context().pages()).toHaveLength(1);
  });

  test("runs no script of a recorded page in its own page either", async () => {
    page = await viewer.newPage();
    const url = await stored(packed(hostileEvents(trap.url, "the last words"), NONSENSE));
    await page.goto(url);
    await recorded().getByText("the last words").waitFor();
    expect(await page.evaluate("window.ran ?? Object.prototype.ran ?? null")).toBeNull();
    expect(page.url()).toBe(url);
  });

  test("plays what is there of a file that ends early, and says so", async () => {
    const whole = packed([...shown([words("before the cut")]), ...noise(200)]);
    page = await viewer.newPage();
    await page.goto(await stored(whole.subarray(0, whole.length / 2)));
    await recorded().getByText("before the cut").waitFor();
    expect(await note().textContent()).toContain("ends early");
  });

  test("plays a file of 20 MB", async () => {
    const bytes = packed([...shown([words("large words")]), ...noise(28_000)]);
    expect(bytes.length).toBeGreaterThan(20 * 1024 ** 2);
    page = await viewer.newPage();
    await page.goto(await stored(bytes));
    await recorded().getByText("large words").waitFor();
    expect(await note().count()).toBe(0);
  });

  test.each([
    ["an empty file", Buffer.alloc(0)],
    ["no gzip", Buffer.from("hello")],
    ["a file without an event", packed([], NONSENSE)],
    ["four gigabytes of one letter", bomb()],
  ])("says of %s that nothing can be played", async (_name, bytes) => {
    page = await viewer.newPage();
    await page.goto(await stored(bytes));
    await note().first().waitFor();
    expect(await page.locator(".replayer-wrapper").count()).toBe(0);
  });

  test("says that a page of nonsense cannot be shown", async () => {
    page = await viewer.newPage();
    await page.goto(await stored(packed([...broken(), ...noise(2)])));
    await note().waitFor();
    expect(await note().textContent()).toContain("cannot be shown");
  });

  test("is nowhere by a URL that has ended, is forged, or is of another act", async () => {
    const key = "replays/org_x/none.ndjson.gz";
    page = await viewer.newPage();
    const get = await mintObjectToken(SIGNING_SECRET, {
      act: "get",
      key,
      contentType: "text/plain",
      expiresAt: Date.now() + 60_000,
    });
    const good = await stored(packed(shown([])));
    const paths = [
      await playerUrl(key),
      await playerUrl(new URL(good).pathname, Date.now() - 1),
      good.slice(0, -1),
      new URL(`/replay/${get}`, gateway.url).href,
      new URL("/replay/x", gateway.url).href,
    ];
    const answers = await Promise.all(
      paths.map(async (path) => {
        const answer = await fetch(path);
        return [answer.status, await answer.text()];
      }),
    );
    expect(new Set(answers.map(String)).size).toBe(1);
    expect(answers[0]?.[0]).toBe(404);
  });
});
