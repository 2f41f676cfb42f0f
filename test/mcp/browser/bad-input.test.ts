// The browser tools where something is wrong: with what is asked, with the page, with the session.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BrowserToolsRig } from "../../support/process/browser-tools.ts";
import { missingBrowser } from "../../support/process/needs.ts";
import { pages } from "./pages.ts";

/** The code of a refusal, and its text, which says what to do. */
const refusal = (code: string, text: RegExp | string = "") =>
  expect.objectContaining({
    code,
    message: typeof text === "string" ? expect.stringContaining(text) : expect.stringMatching(text),
  });

describe.skipIf(await missingBrowser())("browser tools where something is wrong", () => {
  let rig: BrowserToolsRig;
  let sessionId = "";
  const call = (name: string, args: object = {}) => rig.call(name, { sessionId, ...args });
  const open = (path: string) => call("navigate", { url: rig.site + path });
  const title = async () => (await call("read_page")).json["title"];
  const snapshot = async () => (await call("read_page", { format: "snapshot" })).text;
  const refOf = (text: string, line: string) =>
    new RegExp(`- ${line} .*\\[ref=([fe\\d]+)\\]`).exec(text)?.[1] ?? "none";

  beforeAll(async () => {
    rig = await BrowserToolsRig.start(pages);
    const { json } = await rig.call("create", { mode: "fast" });
    sessionId = String(json["sessionId"]);
  });
  afterAll(() => rig.close());

  describe("with what is asked", () => {
    const both = { selector: "a", x: 1, y: 2 };
    test.each([
      ["click", "both a selector and a point", both, /only one of them/],
      ["type", "both", { ...both, text: "x" }, /only one of them/],
      ["key", "both", { ...both, key: "Enter" }, /only one of them/],
      ["click", "neither", {}, /give one of them/],
      ["click", "half a point", { x: 1 }, /give both/],
    ])("%s with %s is refused, and says so", async (name, _what, args, text) => {
      await expect((async () => call(name, args))()).rejects.toEqual(
        refusal("ValidationError", text),
      );
    });

    test("a selector that is none, or that nothing has, is refused", async () => {
      await open("/");
      await expect(call("click", { selector: "a[" })).rejects.toEqual(refusal("InvalidSelector"));
      await expect(call("click", { selector: "#none" })).rejects.toEqual(
        refusal("ElementNotFound", "format=snapshot"),
      );
    });

    test("a point outside the viewport is refused with the viewport's size", async () => {
      await open("/");
      await expect(call("click", { x: 5_000, y: 5 })).rejects.toEqual(
        refusal("OutOfBounds", "1280x720"),
      );
    });

    test("a key that there is none of names those that are near", async () => {
      await expect((async () => call("key", { key: "PgeDown" }))()).rejects.toEqual(
        refusal("UnknownKey", "PageDown"),
      );
      await expect((async () => call("key", { key: "Hyper+A" }))()).rejects.toEqual(
        refusal("UnknownKey", "no modifier"),
      );
    });

    test.each(["file:///etc/passwd", "chrome://settings", "example.com", "javascript:alert(1)"])(
      "%s is no URL that browsers go to",
      async (url) => {
        await expect(call("navigate", { url })).rejects.toEqual(refusal("NavigationFailed"));
      },
    );

    test("what cannot be typed into is refused with the reason", async () => {
      await open("/form");
      for (const selector of ["#off", "#read", "#box"])
        await expect(call("type", { selector, text: "x" })).rejects.toEqual(refusal("NotEditable"));
      await expect(call("type", { selector: "#size", text: "XXL" })).rejects.toEqual(
        refusal("NotEditable", "Small, Large"),
      );
      await expect(call("type", { text: "x" })).rejects.toEqual(refusal("NotEditable", "focus"));
    });
  });

  describe("with elements", () => {
    test("a covered one is not clicked: what covers it is named, and clicked no more once it is gone", async () => {
      await open("/covered");
      await expect(call("click", { selector: "#under" })).rejects.toEqual(
        refusal("ElementObscured", 'id="banner"'),
      );
      expect(await title()).toBe("Covered");
      await call("evaluate", { expression: "banner.remove()" });
      await call("click", { selector: "#under" });
      expect(await title()).toBe("hit");
    });

    test.each(["#none", "#off"])("one that is not shown (%s) is not clicked", async (selector) => {
      await open("/covered");
      await call("evaluate", { expression: "banner.remove()" });
      await expect(call("click", { selector })).rejects.toEqual(refusal("ElementNotVisible"));
    });

    test("one far below is scrolled to", async () => {
      await open("/far");
      await call("click", { selector: "#far" });
      expect(await title()).toBe("Far hit");
    });

    test("the ref of one that has gone is refused", async () => {
      await open("/");
      const ref = refOf(await snapshot(), 'button "Go"');
      await call("evaluate", { expression: "document.querySelector('button').remove()" });
      await expect(call("click", { selector: ref })).rejects.toEqual(
        refusal("ElementNotFound", "another snapshot"),
      );
    });

    test("a ref ends with its document, also when another site's has a node of that number", async () => {
      await open("/");
      const text = await snapshot();
      await call("navigate", { url: `${rig.other}/` });
      for (const ref of [refOf(text, 'button "Go"'), refOf(text, 'link "Next page"')])
        await expect(call("click", { selector: ref })).rejects.toEqual(refusal("ElementNotFound"));
    });

    test("one in a closed shadow root has a ref, and is clicked and typed into by it", async () => {
      await open("/shadow");
      const text = await snapshot();
      await call("click", { selector: refOf(text, 'button "Inside"') });
      expect(await title()).toBe("Shadow hit");
      await call("type", { selector: refOf(text, 'textbox "Secret place"'), text: "abc" });
      expect(await title()).toBe("Typed abc");
    });

    test("one in a frame is covered by what covers the frame", async () => {
      await open("/covered-frame");
      const ref = refOf(await snapshot(), 'button "Cross"');
      await expect(call("click", { selector: ref })).rejects.toEqual(
        refusal("ElementObscured", 'id="banner"'),
      );
    });

    test("those in frames have refs, also in frames of another origin", async () => {
      await open("/frames");
      const text = await snapshot();
      await call("click", { selector: refOf(text, 'button "Same"') });
      expect(await title()).toBe("Same hit");
      await call("click", { selector: refOf(text, 'button "Cross"') });
      await expect.poll(title).toBe("Cross hit");
      await call("type", { selector: refOf(text, 'textbox "Cross field"'), text: "yz" });
      await expect.poll(title).toBe("Cross yz");
    });
  });

  describe("with pages", () => {
    test("dialogs are told and declined, and a page may be left", async () => {
      await open("/dialogs");
      const told = (type: string) => expect.objectContaining({ type });
      const { json } = await call("click", { selector: "#alert" });
      expect(json["dialogs"]).toEqual([{ type: "alert", message: "Hello" }]);
      expect(await title()).toBe("After alert");
      const confirmed = await call("click", { selector: "#confirm" });
      expect(confirmed.json["dialogs"]).toEqual([told("confirm")]);
      expect(await title()).toBe("Answer false");
      const left = await call("click", { selector: "#leave" });
      expect(left.json).toMatchObject({ navigated: true, dialogs: [told("beforeunload")] });
      expect(left.json["title"]).toBe("Next");
    });

    test("a page that wants a file is told that there is none", async () => {
      await open("/form");
      const { json } = await call("click", { selector: "#file" });
      expect(json).toMatchObject({ fileChooser: "cancelled" });
    });

    test("a page that breaks JSON, Array and its document is read and clicked as it is", async () => {
      await open("/hostile");
      expect((await call("read_page")).text).toContain("True text");
      expect((await call("read_page", { format: "links" })).text).toContain("[True link]");
      expect((await call("read_page", { selector: "#text" })).text).toBe("True text");
      expect((await call("evaluate", { expression: "({ a: [1, 'b'] })" })).text).toBe(
        JSON.stringify({ a: [1, "b"] }, null, 1),
      );
      await call("click", { selector: "#go" });
      expect(await title()).toBe("Hostile hit");
    });

    test("20 MB in a page stay there", async () => {
      await open("/huge");
      const html = await call("read_page", { format: "html" });
      expect(html.text).toMatch(/…\(2000000\d characters\)/);
      expect(Number(html.json["totalChars"])).toBeLessThan(2_000);
      expect((await call("read_page")).text).toContain("Small text");
      expect((await call("read_page", { format: "links" })).text).toContain("[data](");
      expect(await snapshot()).toMatch(/^- image "pic" \[ref=e\d+\]$/m);
      for (const before of ["", "const many = 1; "]) {
        const expression = `${before}document.querySelector('img').src`;
        const { text, json } = await call("evaluate", { expression });
        expect(text).toHaveLength(20_000);
        expect(json).toMatchObject({ truncated: true });
      }
    });

    test("a page that is too large for a snapshot says how it is read", async () => {
      await open("/");
      const expression = "document.body.innerHTML = '<i>x</i>'.repeat(16000)";
      await call("evaluate", { expression });
      await expect(snapshot()).rejects.toEqual(refusal("PageTooLarge", "format=text"));
      expect((await call("read_page", { format: "links" })).text).toBe("");
    });

    test("long texts come by parts that make the whole", async () => {
      await open("/");
      const fill =
        "document.body.innerText = Array.from({ length: 900 }, (_, i) => 'line ' + i).join('\\n')";
      await call("evaluate", { expression: fill });
      let text = "";
      for (let offset: unknown = 0; offset !== undefined;) {
        const part = await call("read_page", { offset, maxChars: 3_000 });
        expect(part.text.length).toBeLessThanOrEqual(3_000);
        text += part.text;
        offset = part.json["nextOffset"];
      }
      expect(text).toMatch(/^line 0\n[^]*\nline 899$/);
    });

    test("an expression that throws, or never ends, is refused with the reason", async () => {
      await open("/");
      await expect(call("evaluate", { expression: "null.x" })).rejects.toEqual(
        refusal("EvaluationFailed", "TypeError"),
      );
      await expect(call("evaluate", { expression: "throw {a: 1}" })).rejects.toEqual(
        refusal("EvaluationFailed"),
      );
      for (const expression of ["while (true);", "new Promise(() => {})"])
        await expect(call("evaluate", { expression, timeoutSeconds: 1 })).rejects.toEqual(
          refusal("Timeout", "longer than 1 s"),
        );
      expect((await call("evaluate", { expression: "1 + 1" })).text).toBe("2");
    });

    test("downloads and hosts that are not there are failures with their reason", async () => {
      await open("/");
      await expect(open("/file")).rejects.toEqual(refusal("NavigationFailed", "download"));
      await expect(call("navigate", { url: "http://nowhere.invalid/" })).rejects.toEqual(
        refusal("NavigationFailed", "ERR_"),
      );
      expect((await open("/next")).json).toMatchObject({ status: 200 });
    });

    test("after a crash tools say what to do, and navigate does it", async () => {
      await open("/");
      await rig.crash(sessionId);
      for (const name of ["read_page", "screenshot"])
        await expect(call(name)).rejects.toEqual(refusal("PageCrashed", "svc_browser_navigate"));
      expect((await open("/next")).json).toMatchObject({ title: "Next", status: 200 });
      expect((await call("read_page")).text).toContain("Next");
    });
  });

  describe("with the session", () => {
    test("an id that is none is refused, and close says that nothing was released", async () => {
      const args = { sessionId: "sess_nonsense" };
      for (const name of ["read_page", "screenshot", "save_profile"])
        await expect(rig.call(name, args)).rejects.toMatchObject({ code: "InvalidSessionId" });
      await expect(rig.call("close", args)).rejects.toEqual(
        refusal("InvalidSessionId", "nothing was released"),
      );
    });

    test("a browser that was closed says so", async () => {
      const { json } = await rig.call("create", { mode: "fast" });
      const args = { sessionId: json["sessionId"] };
      await rig.call("close", args);
      await expect(rig.call("read_page", args)).rejects.toEqual(
        refusal("NotRunning", "has ended (released)"),
      );
      expect((await rig.call("close", args)).json).toEqual({ released: true });
    });

    test("at the plan's cap a close makes room", async () => {
      const key = await rig.gateway.newKey("professional", { browsers: 1 });
      const first = await rig.call("create", { mode: "fast" }, { key });
      await expect(rig.call("create", { mode: "fast" }, { key })).rejects.toMatchObject({
        code: "ConcurrencyLimitExceeded",
        holders: [first.json["sessionId"]],
      });
      await rig.call("close", { sessionId: first.json["sessionId"] }, { key });
      const second = await rig.call("create", { mode: "fast" }, { key });
      await rig.call("close", { sessionId: second.json["sessionId"] }, { key });
    });
  });
});
