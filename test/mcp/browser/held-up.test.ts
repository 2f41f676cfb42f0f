// Pages that answer nothing: a script without an end, and dialogs that open when nobody is connected.
import { BrowserKind } from "@svc/contract/browser/session.ts";
import { Cdp, CdpError } from "@svc/sdk/cdp.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BrowserToolsRig } from "../../support/process/browser-tools.ts";
import { missingBrowser, missingKind } from "../../support/process/needs.ts";
import { pages } from "./pages.ts";

/** A page that does something once the test lets it, when nobody is connected, and tells of it right before. */
const later = (act: string): string => `<!doctype html><title>Later</title><script>
  (async () => {
    while ((await (await fetch("/may")).text()) !== "yes") await new Promise((r) => setTimeout(r, 100));
    navigator.sendBeacon("/begins");
    ${act};
  })()</script>`;
const PAGES: Readonly<Record<string, string>> = {
  "/busy": later("while (true)"),
  "/asks": later('document.title = "Answer " + confirm("Sure?")'),
  "/leaves": `<button onclick="onbeforeunload = (event) => event.preventDefault()">Stay</button>${later('location.href = "/next"')}`,
};

const KINDS = await Promise.all(
  BrowserKind.options.map(async (mode) => ({ mode, missing: await missingKind(mode) })),
);

const noStealth = KINDS.find(({ mode }) => mode === "stealth")?.missing;

describe.skipIf(await missingBrowser())("pages that are held up", () => {
  let rig: BrowserToolsRig;
  /** Whether a page may go on. `begins` is called when one does. */
  let isLet = false;
  let begins = (): void => {};
  beforeAll(async () => {
    rig = await BrowserToolsRig.start((path, other) => {
      if (path === "/begins") begins();
      if (path === "/may") return isLet ? "yes" : "no";
      return PAGES[path] ?? pages(path, other);
    });
  });
  afterAll(() => rig.close());

  const begun = async (): Promise<void> => {
    const beginning = new Promise<void>((resolve) => (begins = resolve));
    isLet = true;
    await beginning;
    isLet = false;
  };

  /** A browser that is at a page. */
  async function at(path: string, ask: object) {
    const sessionId = String((await rig.call("create", ask)).json["sessionId"]);
    const call = (name: string, args: object = {}) => rig.call(name, { sessionId, ...args });
    const { json } = await call("navigate", { url: rig.site + path });
    expect(json).toMatchObject({ status: 200 });
    return { sessionId, call };
  }

  for (const { mode, missing } of KINDS)
    describe.skipIf(missing)(`in mode ${mode}`, () => {
      test("by a script without an end say so, and are left", async () => {
        const { call } = await at("/busy", { mode });
        await begun();
        await expect
          .poll(() => call("read_page").catch((error: unknown) => error))
          .toMatchObject({ code: "Timeout" });
        const left = await call("navigate", { url: `${rig.site}/next` });
        expect(left.json).toMatchObject({ title: "Next", status: 200 });
        expect((await call("read_page")).text).toContain("Next");
        await call("close");
      });

      const told = [{ type: "confirm", message: "Sure?" }];
      // In mode fast the browser answers a dialog itself, unless it is recorded: whether one is told depends on who is faster.
      const asks = {
        fast: [
          { ask: {}, dialogs: expect.toBeOneOf([undefined, told]) },
          { ask: { recording: true }, dialogs: told },
        ],
        stealth: [{ ask: {}, dialogs: told }],
      };
      test.each(asks[mode])(
        "by a dialog that opens between two calls are read by the next one ($ask)",
        async ({ ask, dialogs }) => {
          const { call } = await at("/asks", { mode, ...ask });
          await begun();
          expect((await call("read_page")).json["dialogs"]).toEqual(dialogs);
          await expect
            .poll(async () => (await call("read_page")).json["title"])
            .toBe("Answer false");
          expect((await call("read_page")).json).not.toHaveProperty("dialogs");
          await call("close");
        },
      );

      test("by a question whether they may be left are left", async () => {
        const { call } = await at("/leaves", { mode });
        await call("click", { selector: "button" });
        await begun();
        await expect.poll(async () => (await call("read_page")).json["title"]).toBe("Next");
        await call("close");
      });
    });

  test.skipIf(noStealth)(
    "by a dialog tell every client that comes, and take an answer from each",
    async () => {
      const { sessionId, call } = await at("/asks", { mode: "stealth" });
      await begun();
      const { cdpEndpoint } = await rig.svc().browsers.connect(sessionId);
      const clients = await Promise.all([1, 2].map(() => Cdp.connect(String(cdpEndpoint))));
      const pagesOf = clients.map(async (cdp) => {
        const { targetInfos } = await cdp.send("Target.getTargets");
        const known = targetInfos as { type: string; targetId: string }[];
        const page = await cdp.attach(known.find(({ type }) => type === "page")?.targetId ?? "");
        const told = page.once("Page.javascriptDialogOpening");
        page.send("Page.enable").catch(() => {});
        expect(await told).toMatchObject({ type: "confirm", message: "Sure?" });
        return page;
      });
      const [first, second] = await Promise.all(pagesOf);
      const closed = second?.once("Page.javascriptDialogClosed");
      for (const promptText of [5, "x".repeat(100_000)]) {
        const wrong = first?.send("Page.handleJavaScriptDialog", { accept: true, promptText });
        await expect(wrong).rejects.toThrow(CdpError);
      }
      await first?.send("Page.handleJavaScriptDialog", { accept: true });
      expect(await closed).toMatchObject({ result: true });
      const again = second?.send("Page.handleJavaScriptDialog", { accept: false });
      await expect(again).rejects.toThrow("No dialog is showing");
      expect((await call("read_page")).json).toMatchObject({ title: "Answer true" });
      for (const cdp of clients) cdp.close();
      await call("close");
    },
  );
});
