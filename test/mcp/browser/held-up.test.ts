// Pages that answer nothing: a script without an end, and a dialog that opens when nobody is connected.
import { BrowserKind } from "@svc/contract/browser/session.ts";
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
  "/asks-later": later('alert("Late")'),
};

// In mode fast the browser answers such a dialog itself.
const HELD = { fast: ["/busy"], stealth: ["/busy", "/asks-later"] };
const KINDS = await Promise.all(
  BrowserKind.options.map(async (mode) => ({ mode, missing: await missingKind(mode) })),
);

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

  for (const { mode, missing } of KINDS)
    test.skipIf(missing).each(HELD[mode])(
      `in mode ${mode} %s says so, and is left`,
      async (path) => {
        const sessionId = (await rig.call("create", { mode })).json["sessionId"];
        const call = (name: string, args: object = {}) => rig.call(name, { sessionId, ...args });
        expect((await call("navigate", { url: rig.site + path })).json).toMatchObject({
          status: 200,
        });
        const begun = new Promise<void>((resolve) => (begins = resolve));
        isLet = true;
        await begun;
        isLet = false;
        await expect
          .poll(() => call("read_page").catch((error: unknown) => error))
          .toMatchObject({ code: "Timeout" });
        const left = await call("navigate", { url: `${rig.site}/next` });
        expect(left.json).toMatchObject({ title: "Next", status: 200 });
        expect((await call("read_page")).text).toContain("Next");
        await call("close");
      },
    );
});
