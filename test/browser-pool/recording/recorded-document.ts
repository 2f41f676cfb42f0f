import type { Browser, CDPSession, Page } from "playwright-core";
import type { RecordingMask } from "@svc/contract/browser/recording.ts";
import { pageScript } from "../../../browser-pool/recording/page-script.ts";

const WORLD = "test";
/** Chromium tells each new document where the mouse is, which is a use of it. */
const NOT_YET = `globalThis.requestIdleCallback = () => 0;
  addEventListener("pointermove", (event) => event.stopImmediatePropagation(), true)`;

/** A document with the page script in an isolated world, in which a test evaluates too. rrweb begins when the test says so. */
export class RecordedDocument {
  readonly page: Page;
  readonly #cdp: CDPSession;
  readonly #contextId: number;

  private constructor(page: Page, cdp: CDPSession, contextId: number) {
    this.page = page;
    this.#cdp = cdp;
    this.#contextId = contextId;
  }

  static async open(
    browser: Browser,
    url: string,
    rrweb: string,
    mask: RecordingMask | null = null,
  ): Promise<RecordedDocument> {
    const page = await browser.newPage();
    const cdp = await page.context().newCDPSession(page);
    await cdp.send("Page.enable");
    const source = `${NOT_YET}; ${pageScript(rrweb, "none", mask)}`;
    await cdp.send("Page.addScriptToEvaluateOnNewDocument", { source, worldName: WORLD });
    await page.goto(url);
    return new RecordedDocument(page, cdp, await worldOf(cdp));
  }

  async evaluate(expression: string): Promise<string> {
    const ask = {
      expression,
      contextId: this.#contextId,
      returnByValue: true,
      awaitPromise: true,
    };
    const { result, exceptionDetails } = await this.#cdp.send("Runtime.evaluate", ask);
    if (exceptionDetails) throw new Error(JSON.stringify(exceptionDetails));
    return String(result.value);
  }

  /** The lines that the document has gathered. */
  take(): Promise<string> {
    return this.evaluate("__svcRecorder.take(1000)");
  }

  /** Has rrweb record from now on. */
  begin(): Promise<string> {
    return this.evaluate(`dispatchEvent(new Event("input"))`);
  }
}

async function worldOf(cdp: CDPSession): Promise<number> {
  const { frameTree } = await cdp.send("Page.getFrameTree");
  const world = { frameId: frameTree.frame.id, worldName: WORLD };
  return (await cdp.send("Page.createIsolatedWorld", world)).executionContextId;
}
