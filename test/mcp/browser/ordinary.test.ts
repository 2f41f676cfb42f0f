// The browser tools in ordinary use, on real browsers of both kinds behind the real gateway.
import { BrowserKind } from "@svc/contract/browser/session.ts";
import sharp from "sharp";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { BrowserToolsRig } from "../../support/process/browser-tools.ts";
import { missingBrowser, missingKind } from "../../support/process/needs.ts";
import { pages } from "./pages.ts";

const KINDS = await Promise.all(
  BrowserKind.options.map(async (mode) => ({ mode, missing: await missingKind(mode) })),
);

describe.skipIf(await missingBrowser())("browser tools", () => {
  let rig: BrowserToolsRig;
  beforeAll(async () => {
    rig = await BrowserToolsRig.start(pages);
  });
  afterAll(() => rig.close());

  for (const { mode, missing } of KINDS)
    describe.skipIf(missing)(`of kind ${mode}`, () => {
      let sessionId = "";
      const call = (name: string, args: object = {}) => rig.call(name, { sessionId, ...args });
      const open = (path: string) => call("navigate", { url: rig.site + path });
      const title = async () => (await call("read_page", {})).json["title"];

      beforeAll(async () => {
        const { json } = await rig.call("create", { mode });
        expect(json).toMatchObject({ mode, captcha: { active: false } });
        sessionId = String(json["sessionId"]);
      });
      afterAll(async () => {
        expect((await call("close")).json).toEqual({ released: true });
      });

      test("navigate answers the final URL, the title and the status", async () => {
        const url = `${rig.site}/`;
        expect((await open("/")).json).toEqual({ url, title: "Home", status: 200 });
        expect((await open("/none")).json).toMatchObject({ title: "Not here", status: 404 });
      });

      test("read_page answers what a person reads, by parts", async () => {
        await open("/");
        const { text, json } = await call("read_page");
        expect(text).toMatch(/^Home\n+Read me\.\n/);
        expect(json).toMatchObject({ title: "Home", format: "text", truncated: false });
      });

      test("read_page answers each link once, with its whole URL", async () => {
        await open("/");
        const { text } = await call("read_page", { format: "links" });
        expect(text).toBe(`- [Next page](${rig.site}/next)\n- [New tab](${rig.site}/new)`);
      });

      test("read_page answers the HTML of an element", async () => {
        await open("/");
        const { text } = await call("read_page", { format: "html", selector: "p" });
        expect(text).toBe("<p>Read   me.</p>");
      });

      test("a ref of a snapshot is clicked from another connection", async () => {
        await open("/");
        const { text } = await call("read_page", { format: "snapshot" });
        expect(text).toMatch(/^- heading "Home" \[level=1\] \[ref=e\d+\]$/m);
        expect(text.match(/Large/g)).toHaveLength(2);
        expect(text.match(/Next page/g)).toHaveLength(1);
        const [, ref] = /- button "Go" \[ref=(e\d+)\]/.exec(text) ?? [];
        const { json } = await call("click", { selector: ref });
        expect(json).toMatchObject({ navigated: false });
        expect(await title()).toBe("Pressed true");
      });

      test("click waits for the page that it leads to", async () => {
        await open("/");
        const { json } = await call("click", { selector: "a" });
        expect(json).toEqual({ url: `${rig.site}/next`, title: "Next", navigated: true });
      });

      test("a tab that a click opens is told, and used from then on", async () => {
        await open("/");
        const { json } = await call("click", { selector: "a[target]" });
        expect(json).toMatchObject({ navigated: false, opened: [`${rig.site}/new`] });
        expect((await call("read_page")).text).toContain("New tab");
        await call("evaluate", { expression: "window.close()" }).catch(() => {});
        await expect.poll(title).toBe("Home");
      });

      test("click at a point, with a picture of what comes of it", async () => {
        await open("/");
        const asked = "JSON.stringify(document.querySelector('button').getBoundingClientRect())";
        const { x, y, width, height } = JSON.parse(
          (await call("evaluate", { expression: asked })).text,
        );
        const at = { x: x + width / 2, y: y + height / 2, screenshot: true };
        const { picture } = await call("click", at);
        expect(await sharp(picture ?? "").metadata()).toMatchObject({ format: "jpeg" });
        expect(await title()).toBe("Pressed true");
      });

      test("type presses keys, clears, and submits", async () => {
        await open("/form");
        await call("type", { selector: "#name", text: "Zoë 日本 :-)", clear: true });
        const read =
          "[document.querySelector('#name').value, keys.textContent.length > 3, keys.textContent.includes('!')]";
        const { text } = await call("evaluate", { expression: read });
        expect(JSON.parse(text)).toEqual(["Zoë 日本 :-)", true, false]);
        const { json } = await call("type", { text: "!", submit: true });
        expect(json).toMatchObject({ title: "Next", navigated: true });
        expect(decodeURIComponent(String(json["url"]))).toContain("name=Zoë+日本+:-)!");
      });

      test("type fills texts of several lines, lists, dates and editable elements", async () => {
        await open("/form");
        await call("type", { selector: "#lines", text: "one\ntwo" });
        await call("type", { selector: "#size", text: "large" });
        await call("type", { selector: "#day", text: "2026-11-30" });
        await call("type", { selector: "#rich", text: "er" });
        const read =
          "['lines','size','day'].map((id) => document.getElementById(id).value).concat(rich.innerText)";
        const { text } = await call("evaluate", { expression: read });
        expect(JSON.parse(text)).toEqual(["one\ntwo", "l", "2026-11-30", "richer"]);
      });

      test("key presses chords and names, also several times", async () => {
        await open("/form");
        await call("key", { selector: "#name", key: "Control+A" });
        await call("key", { key: "x", repeat: 3 });
        await call("key", { key: "Backspace" });
        const { text } = await call("evaluate", {
          expression: "document.querySelector('#name').value",
        });
        expect(text).toBe("xx");
        await open("/scroll");
        await call("key", { key: "PageDown" });
        await expect.poll(title).toBe("Scrolled");
      });

      test("evaluate answers JSON, awaits promises, and describes the rest", async () => {
        await open("/");
        const values = [
          ["({ a: [1, null], b: 'x' })", { a: [1, null], b: "x" }],
          ["await Promise.resolve(7)", 7],
          ["const one = 1; one + 1", 2],
          ["const two = 2; return two", 2],
        ] as const;
        for (const [expression, value] of values)
          expect(JSON.parse((await call("evaluate", { expression })).text)).toEqual(value);
        const element = await call("evaluate", { expression: "document.querySelector('h1')" });
        expect(element).toMatchObject({ json: { type: "node" }, text: "h1" });
        const text = await call("evaluate", { expression: "'é'.repeat(5000)", maxChars: 1000 });
        expect(text.text).toBe("é".repeat(1000));
        expect(text.json).toEqual({ type: "string", truncated: true });
      });

      test("screenshot has one pixel for each of CSS, and colours where they are", async () => {
        await open("/tall");
        const { picture, json } = await call("screenshot");
        const seen = sharp(picture ?? "");
        expect(await seen.metadata()).toMatchObject({
          width: json["width"],
          height: json["height"],
        });
        const asked = await call("evaluate", {
          expression: "document.documentElement.clientWidth",
        });
        expect(json["scale"]).toBeCloseTo(Math.min(1, 1568 / Number(asked.text)), 2);
        const { data } = await seen
          .extract({ left: 150, top: 100, width: 1, height: 1 })
          .raw()
          .toBuffer({ resolveWithObject: true });
        expect(Math.abs((data[0] ?? 0) - 255) + (data[1] ?? 0)).toBeLessThan(20);
      });

      test("screenshot of an element has its size, one of a whole page fits", async () => {
        await open("/tall");
        const one = await call("screenshot", { selector: "#red" });
        expect(one.json).toMatchObject({ width: 300, height: 200, scale: 1 });
        const whole = await call("screenshot", { fullPage: true });
        expect(whole.json["height"]).toBe(1568);
        expect(Number(whole.json["scale"])).toBeCloseTo(1568 / 4200, 2);
      });
    });

  describe("of kind fast, from create to replay", () => {
    const closing: string[] = [];
    const created = async (args: object, more: object = {}) => {
      const { json } = await rig.call("create", { mode: "fast", ...args }, more);
      closing.push(String(json["sessionId"]));
      return { sessionId: String(json["sessionId"]), json };
    };
    afterAll(async () => {
      for (const sessionId of closing) await rig.call("close", { sessionId });
    });

    test("a profile that is saved by its name is what a default names", async () => {
      const { sessionId } = await created({});
      await rig.call("navigate", { sessionId, url: `${rig.site}/` });
      const expression = "document.cookie = 'who=me; max-age=3600'";
      await rig.call("evaluate", { sessionId, expression });
      const saved = (await rig.call("save_profile", { sessionId, name: "mine" })).json;
      expect(saved).toMatchObject({ version: 1, sizeBytes: expect.any(Number) });
      const defaultProfile = { name: "mine", origin: "header" };
      const again = await created({}, { defaultProfile });
      expect(again.json).toMatchObject({
        profileId: saved["profileId"],
        profileSource: "default",
        defaultOrigin: "header",
      });
      await rig.call("navigate", { sessionId: again.sessionId, url: `${rig.site}/` });
      const read = { sessionId: again.sessionId, expression: "document.cookie" };
      expect((await rig.call("evaluate", read)).text).toBe("who=me");
      const named = await created({ profileId: saved["profileId"] }, { defaultProfile });
      expect(named.json).toMatchObject({ profileSource: "explicit" });
    });

    test("a default profile that is none is named by the refusal", async () => {
      const defaultProfile = { name: "nobody's", origin: "env" as const };
      await expect(created({}, { defaultProfile })).rejects.toMatchObject({
        code: "ProfileNotFound",
        message: expect.stringContaining("nobody's"),
      });
    });

    test("captcha is on in stealth and off in fast unless it is said", async () => {
      const key = await rig.gateway.newKey("professional", { features: { captcha: false } });
      await expect(rig.call("create", {}, { key })).rejects.toMatchObject({
        code: "FeatureRequiresPlan",
        body: { feature: "captcha" },
      });
      const { json } = await rig.call("create", { mode: "fast" }, { key });
      await rig.call("close", { sessionId: json["sessionId"] }, { key });
    });

    test("a recording has its URLs once the browser is closed", async () => {
      const { sessionId } = await created({ recording: true });
      await rig.call("navigate", { sessionId, url: `${rig.site}/` });
      await expect(rig.call("replay_url", { sessionId, waitSeconds: 0 })).rejects.toMatchObject({
        code: "ReplayPending",
      });
      await rig.call("close", { sessionId });
      await expect
        .poll(async () => (await rig.call("replay_url", { sessionId, waitSeconds: 30 })).json)
        .toMatchObject({ url: expect.any(String), viewUrl: expect.any(String) });
      const plain = await created({});
      await rig.call("close", { sessionId: plain.sessionId });
      const args = { sessionId: plain.sessionId, waitSeconds: 0 };
      await expect(rig.call("replay_url", args)).rejects.toMatchObject({
        code: "ReplayUnavailable",
      });
    });
  });
});
