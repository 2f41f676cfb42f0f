// Actions on a busy page: the navigation that an action leads to is told after the input was answered.
import type { Cdp, CdpListener } from "@svc/sdk/cdp.ts";
import { expect, test } from "vitest";
import { Page } from "../../../mcp/page/page.ts";
import type { Tab, Tabs } from "../../../mcp/page/tabs.ts";

const tab: Tab = { targetId: "page", url: "", title: "" };

/** A page whose form is sent a while after the key that sends it, and whose answers wait for that. */
class BusyPage {
  readonly #listeners = new Map<string, CdpListener>();
  /** All that it does, one after the other. */
  #turn: Promise<unknown> = Promise.resolve();
  #title = "Form";

  readonly sessionId = "session";
  readonly on = (event: string, listener: CdpListener) => {
    this.#listeners.set(event, listener);
    return () => this.#listeners.delete(event);
  };
  readonly send = async (method: string): Promise<object> => {
    if (method === "Input.dispatchKeyEvent") {
      void this.#does(() => this.#leave());
      return {};
    }
    if (method === "Page.createIsolatedWorld") return { executionContextId: 1 };
    const answer = () => ({ result: { value: { url: "", title: this.#title, status: 200 } } });
    return this.#does(answer);
  };

  #does<Result>(work: () => Result): Promise<Result> {
    const done = this.#turn.then(() => new Promise((resolve) => setTimeout(resolve, 250)));
    return (this.#turn = done.then(work)) as Promise<Result>;
  }

  #leave(): void {
    const frame = { id: "page", loaderId: "next" };
    this.#tell("Page.frameRequestedNavigation", { frameId: "page", disposition: "currentTab" });
    this.#tell("Page.frameStartedLoading", { frameId: "page" });
    setTimeout(() => {
      this.#title = "Next";
      this.#tell("Page.frameNavigated", { frame });
      this.#tell("Page.frameStoppedLoading", { frameId: "page" });
    }, 600);
  }

  #tell(event: string, params: Record<string, unknown>): void {
    this.#listeners.get(event)?.(params);
  }
}

test("a navigation that a busy page begins late is waited for", async () => {
  const busy = new BusyPage();
  const cdp = { attach: async () => busy, on: () => () => {} } as unknown as Cdp;
  const { signal } = new AbortController();
  const onChange = () => () => {};
  const tabs = { cdp, signal, ids: new Set(["page"]), since: () => [], onChange };
  const page = await Page.attach(tabs as unknown as Tabs, tab);
  await page.mustAnswer();
  const enter = async () => void (await page.attached.send("Input.dispatchKeyEvent"));
  expect(await page.acting(enter)).toEqual({ url: "", title: "Next", navigated: true });
});
