import { HandoffBegun } from "@svc/contract/browser/handoff.ts";
import { type Browser, type BrowserContextOptions, type Page, chromium } from "playwright-core";
import { expect, vi } from "vitest";
import type { Site } from "../fakes/site.ts";
import { startLiveSite } from "./live-site.ts";
import { openPersonsBrowser } from "./persons-browser.ts";
import { WatchingRig } from "./watching-rig.ts";

export const PATIENCE = { timeout: 60_000, interval: 50 };
/** Longer than a busy machine takes to show the page, and over when the last tests come. */
const BRIEF_SECONDS = 60;
const DESK = { width: 1100, height: 900 };

/** A session, and its first page as a client of it sees it. */
interface Session {
  id: string;
  cdpEndpoint: string;
  page: Page;
}

/** A session behind a real gateway, its page, and the browser of a person who is given it. */
export class LivePageRig {
  readonly watching: WatchingRig;
  readonly site: Site;
  readonly theirs: Browser;
  /** The session, and its page as a client of it sees it. */
  readonly id: string;
  readonly page: Page;
  /** Errors of the person's pages. */
  readonly faults: string[] = [];
  /** The hand-off that is open. */
  begun: HandoffBegun | null = null;
  /** Another session, which somebody has for a short time. */
  declare brief: { id: string; person: Page };

  private constructor(watching: WatchingRig, theirs: Browser, session: Session) {
    this.watching = watching;
    this.site = watching.site;
    this.theirs = theirs;
    this.id = session.id;
    this.page = session.page;
  }

  static async start(): Promise<LivePageRig> {
    const watching = await WatchingRig.start({}, await startLiveSite());
    const theirs = await openPersonsBrowser();
    const rig = new LivePageRig(watching, theirs, await sessionOf(watching));
    const { id } = await rig.another();
    const { liveUrl } = await rig.begin({ timeoutSeconds: BRIEF_SECONDS }, id);
    rig.brief = { id, person: await rig.window(liveUrl) };
    await has(rig.brief.person);
    return rig;
  }

  async close(): Promise<void> {
    await this.theirs.close();
    await this.watching.close();
  }

  /** Another session, for what ends one. */
  another(): Promise<Session> {
    return sessionOf(this.watching);
  }

  async begin(wish: object = {}, id = this.id): Promise<HandoffBegun> {
    const answer = await this.watching.call(`/sessions/${id}/handoffs`, "POST", { body: wish });
    return HandoffBegun.parse(await answer.json());
  }

  cancel({ handoff }: HandoffBegun, id = this.id): Promise<Response> {
    return this.watching.call(`/sessions/${id}/handoffs/${handoff.id}`, "DELETE");
  }

  /** A window of the person at a URL. */
  async window(url: string, options: BrowserContextOptions = {}): Promise<Page> {
    const context = await this.theirs.newContext({ viewport: DESK, ...options });
    const person = await context.newPage();
    person.on("pageerror", ({ message }) => this.faults.push(message));
    await person.goto(url);
    return person;
  }

  /** A person who has the session, with a page of the site before them. */
  async person(path: string, options: BrowserContextOptions = {}): Promise<Page> {
    this.begun = await this.begin();
    const person = await this.window(this.begun.liveUrl, options);
    await has(person);
    await this.show(path, person);
    return person;
  }

  /** Brings the session to a page of the site, and waits until the person sees it. */
  async show(path: string, person: Page, page = this.page): Promise<void> {
    await page.goto(this.site.url + path);
    await seesNewest(person, page);
  }

  /** The person leaves, and the session is taken back. */
  async end(person: Page): Promise<void> {
    await person.context().close();
    if (this.begun) await this.cancel(this.begun);
    this.begun = null;
    expect(this.faults.splice(0)).toEqual([]);
  }

  /** The point in the person's window of the middle of an element of the session's page. */
  async pointOf(selector: string, person: Page, page = this.page) {
    const box = await this.boxOf(selector, page);
    const picture = await this.boxOf("#picture", person);
    const scale = picture.width / (page.viewportSize()?.width ?? fail("a viewport"));
    const x = picture.x + (box.x + box.width / 2) * scale;
    return { x, y: picture.y + (box.y + box.height / 2) * scale };
  }

  async boxOf(selector: string, page: Page) {
    return (await page.locator(selector).boundingBox()) ?? fail(selector);
  }

  async click(selector: string, person: Page, page = this.page): Promise<void> {
    const { x, y } = await this.pointOf(selector, person, page);
    await person.mouse.click(x, y);
  }
}

/** Waits until what a person does arrives. */
export const has = (person: Page): Promise<void> =>
  person.locator("#done:enabled").waitFor(PATIENCE);

/**
 * Marks the session's page with a colour, and waits for it in the person's picture: all that was before is drawn. The mark
 * changes as long as it is not seen: of a page that changes often a busy browser leaves pictures out, the last one too.
 */
async function seesNewest(person: Page, page: Page): Promise<void> {
  let blue = 0;
  await vi.waitFor(async () => {
    blue = (blue + 1) % 50;
    await page.evaluate(`document.documentElement.style.background = "rgb(0, 200, ${blue})"`);
    const [red = 255, green = 0] = await person.evaluate<number[]>(
      `[...picture.getContext("2d").getImageData(5, picture.height - 5, 1, 1).data]`,
    );
    expect(green - red).toBeGreaterThan(100);
  }, PATIENCE);
  await page.evaluate(`document.documentElement.style.background = ""`);
}

async function sessionOf(watching: WatchingRig): Promise<Session> {
  const { sessionId: id, cdpEndpoint } = await watching.created({ lease: { idleSeconds: 600 } });
  const browser = await chromium.connectOverCDP(cdpEndpoint);
  const page = browser.contexts()[0]?.pages()[0] ?? fail("a page");
  // Dialogs are the person's: a client that hears of them answers none by itself.
  page.on("dialog", () => {});
  await page.setViewportSize({ width: 1280, height: 720 });
  return { id, cdpEndpoint, page };
}

function fail(what: string): never {
  throw new Error(`there is no ${what}`);
}
