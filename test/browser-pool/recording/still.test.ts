// Stills of documents against the snapshots of rrweb, both of the same document in a real Chromium.
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readRrweb } from "../../../browser-pool/recording/page-script.ts";
import { eventsOf, isStill } from "../../../browser-pool/recording/still.ts";
import { missingBrowser } from "../../support/process/needs.ts";
import { openPersonsBrowser } from "../../support/process/persons-browser.ts";
import { startEchoSite } from "../../support/process/recorded.ts";
import { RecordedDocument } from "./recorded-document.ts";

const SNAPSHOT = 2;
const RICH = `<html lang=en><head><title>a title</title><base href="/there/"><style>p { color: red }</style>
<link rel=stylesheet href="data:text/css,b{color:red}"></head><body class="a b">
<!-- a comment --><p style="background: url(a.png)">one<b>two</b> &quot;three&quot;
<a href="item/1">link</a><a href="#x">here</a><img src="x.png" srcset="y.png 2x">
<svg viewBox="0 0 9 9"><linearGradient></linearGradient><a href="z"></a><foreignObject><div>html</div></foreignObject></svg>
<form id=f><input name=a></form>
<input value=typed><input type=checkbox checked><input type=radio value=r><input type=submit value=Go>
<input type=password value=secret><textarea>a text</textarea><textarea name=otp>secret</textarea>
<select><option>1<option selected>2</select><x-custom>custom</x-custom><video autoplay></video>
<div class="rr-block">blocked</div><div class="rr-mask">masked <i>words</i></div><template><p>inert</template>
<noscript><p>none</p></noscript><pre>
  kept </pre><script>
  document.querySelector("x-custom").attachShadow({ mode: "open" }).innerHTML = "<p>shadow <slot></slot></p>!";
  document.styleSheets[0].insertRule("i { color: blue }");
  document.querySelector("[type=radio]").checked = true;
</script><dialog open>a dialog</dialog><table><tr><td>cell</table>`;

const site = await startEchoSite();
let browser: Browser;
let rrweb: string;

const opened = (html: string, mask: "inputs" | "all" | null = null) =>
  RecordedDocument.open(browser, site.page(html), rrweb, mask);

/** The events of the still of a document, and then those of rrweb. */
async function both(html: string, mask: "inputs" | "all" | null = null) {
  const document = await opened(html, mask);
  const line = await document.take();
  expect(isStill(line)).toBe(true);
  const still = (await eventsOf(line)).map((each) => JSON.parse(each) as Event);
  await document.begin();
  const whole = (await document.take()).split("\n").map((each) => JSON.parse(each) as Event);
  await document.page.close();
  return { line, still, whole };
}

interface Event {
  type: number;
  data: Record<string, unknown>;
}
const snapshotOf = (events: Event[]) => events.find(({ type }) => type === SNAPSHOT)?.data;
/** Documents inside frames. */
const framesOf = (events: Event[]) => events.filter(({ data }) => data["isAttachIframe"]);

describe.skipIf(await missingBrowser())("a still", () => {
  beforeAll(async () => {
    browser = await openPersonsBrowser();
    rrweb = await readRrweb();
  });
  afterAll(async () => {
    await browser.close();
    site.close();
  });

  test.each([null, "inputs", "all"] as const)(
    "with the mask %s says of a document what rrweb does",
    async (mask) => {
      // Of comments rrweb hides nothing.
      const html = mask === "all" ? RICH.replace(/<!--.*?-->/, "") : RICH;
      const { still, whole } = await both(html, mask);
      expect(still[0]).toMatchObject({ type: 4, data: whole.find(({ type }) => type === 4)?.data });
      expect(snapshotOf(still)).toEqual(snapshotOf(whole));
    },
  );

  test("has what frames of its origin show", async () => {
    const { still, whole } = await both(`<iframe srcdoc="<p>inside <b>a frame"></iframe><p>behind`);
    expect(snapshotOf(still)).toEqual(snapshotOf(whole));
    expect(framesOf(still)).toMatchObject(framesOf(whole).map(({ data }) => ({ data })));
    expect(framesOf(still)).toHaveLength(1);
  });

  test("has what is in forms that hide their own members", async () => {
    const document = await opened(
      `<form><input name=firstChild><input name=attributes><input name=nodeType><input name=localName><p>inside</form>`,
    );
    const [, snapshot = ""] = await eventsOf(await document.take());
    for (const name of ["firstChild", "attributes", "nodeType", "localName"])
      expect(snapshot).toContain(`{"name":"${name}"}`);
    expect(snapshot).toContain('"textContent":"inside"');
    await document.page.close();
  });

  test("never has a secret, whatever its page has made of it", async () => {
    const document = await opened(
      `<input id=a type=password value=secret-1><input id=b autocomplete=cc-number value=secret-2>
      <input id=c type=password><input id=d type=password value=secret-3>`,
    );
    await document.page.evaluate(`a.type = "text"; c.value = "secret-4"; d.value = ""`);
    // Without its URL, which has the whole page.
    const line = (await document.take()).replace(/^.*?\[8,/, "");
    expect(line).not.toContain("secret");
    expect(line).toContain("********");
    await document.begin();
    expect((await document.take()).replace(/"href":"http[^"]*"/, "")).not.toMatch(/secret-[124]/);
    await document.page.close();
  });

  test("of a large and deep document has its last words, and others have their turn meanwhile", async () => {
    const document = await opened(`<body><script>
      let inner = document.body;
      const add = (name) => inner.appendChild(document.createElement(name));
      for (let n = 0; n < 10_000; n += 1) add("p").append("words");
      for (let n = 0; n < 400; n += 1) inner = add("div");
      inner.append("the last words");
    </script>`);
    const line = await document.take();
    let turns = 0;
    let next = setImmediate(function count() {
      turns += 1;
      next = setImmediate(count);
    });
    const events = await eventsOf(line);
    clearImmediate(next);
    expect(turns).toBeGreaterThan(10);
    expect(events[1]).toContain("the last words");
    await document.page.close();
  });

  test("that is damaged has no events", async () => {
    for (const rest of [
      "",
      "1]",
      `1,"a","b",[1,2,3,4],[1,"p"]]`,
      `1,"a","b",[1,2,3,4],[8,"",9,{},1,1,1,9e9]]`,
    ])
      expect(await eventsOf(`["svc.still",${rest}`)).toEqual([]);
  });
});

test("URLs of a sheet are found in time that grows with its length alone", async () => {
  const css = ["url(", "url( ", `url("`, "url('", "url(a "].map((each) => each.repeat(200_000));
  const tokens = [8, "", 1, "style", 0, 5, ...css.flatMap((each) => ["_cssText", each]), 0, 0];
  const events = await eventsOf(JSON.stringify(["svc.still", 1, "a", "b:c", [1, 2, 3, 4], tokens]));
  expect(events).toHaveLength(2);
});
