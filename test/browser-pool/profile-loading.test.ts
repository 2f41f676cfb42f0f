import { WIRE_VERSIONS } from "@svc/contract/browser/wire-versions.ts";
import { SaveProfile } from "@svc/contract/browser/profile.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { RawCdp, byCdp, byWire, byWireOf, firstPage } from "./clients.ts";
import { describeKinds } from "./kinds.ts";
import { oddStates } from "./odd-states.ts";
import { Rig } from "./rig.ts";

interface Origin {
  origin: string;
  localStorage?: { name: string; value: string }[];
  indexedDB?: object[];
  opfs?: object[];
}

/** Stands for a value that JSON.stringify cannot write. */
const DEEP = "deep";
const NESTED = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;

const item = (name: string, value: string) => ({ name, value });
const originsOf = (count: number): Origin[] =>
  Array.from({ length: count }, (_, at) => ({
    origin: `https://www.site-${at}.example`,
    localStorage: [item("at", String(at))],
  }));

/** What a page of an origin evaluates to. The site need not exist: its page is answered here. */
async function readAt(browser: Browser, origin: string, expression: string): Promise<unknown> {
  const page = firstPage(browser);
  await page.route("**", (route) => route.fulfill({ contentType: "text/html", body: "<p>" }));
  await page.goto(origin);
  return page.evaluate(expression);
}

describeKinds("the state of a profile", (kind) => {
  let rig: Rig;
  let count = 0;
  let id: string;
  let logged = 0;

  beforeAll(async () => {
    rig = await Rig.start({ kind, env: { SVC_MAX_FAST: "2", SVC_MAX_STEALTH: "2" } });
  });
  afterAll(() => rig.stop());
  beforeEach(() => {
    count += 1;
    id = `s${count}`;
    logged = rig.stderr.length;
    return async () => void (await rig.delete(id));
  });

  function stored(state: object): { profile: { statePath: string } } {
    const statePath = `/objects/${id}.signed`;
    const body = JSON.stringify(state).replace(`"${DEEP}"`, NESTED);
    rig.gateway.objects.set(statePath, { status: 200, body });
    return { profile: { statePath } };
  }

  /** Places a session with a state that a save accepts. Whether all of it was loaded is for `losses` to tell. */
  async function place(state: object): Promise<void> {
    SaveProfile.parse({ storageState: state });
    await rig.place(id, stored(state));
  }

  /** The log lines about parts that were not loaded, since this test began. */
  const losses = (): object[] =>
    rig.stderr
      .slice(logged)
      .split("\n")
      .filter((line) => line.includes("profile_partly_loaded"))
      .map((line) => JSON.parse(line));

  // A whole Chromium takes three times as long for each, and this computer may be busy.
  const most = kind === "fast" ? LIMITS.profileOrigins : LIMITS.profileOrigins / 2;

  test(`with ${most} origins is loaded in its time`, async () => {
    await place({ origins: originsOf(most) });
    const browser = await byCdp(rig, id);
    for (const at of [0, 1, 99, most - 1]) {
      const read = readAt(browser, `https://www.site-${at}.example`, "localStorage.getItem('at')");
      expect(await read).toBe(String(at));
    }
    expect(losses()).toEqual([]);
  });

  test("leaves the browser with its one empty page, and its tabs were seen by nobody", async () => {
    await place({ origins: originsOf(3) });
    const raw = await RawCdp.open(rig, id);
    const { result } = await raw.call("Target.getTargets");
    expect(result?.targetInfos).toEqual([
      expect.objectContaining({ type: "page", url: "about:blank" }),
    ]);
    for (const browser of [await byWire(rig, id), await byCdp(rig, id)])
      expect(
        browser
          .contexts()[0]
          ?.pages()
          .map((page) => page.url()),
      ).toEqual(["about:blank"]);
  });

  test("is read again by storageState() of every wire version", async () => {
    const origins = originsOf(3);
    await place({ origins });
    const byName = (one: Origin, other: Origin) => (one.origin < other.origin ? -1 : 1);
    for (const version of WIRE_VERSIONS) {
      const browser = await byWireOf(version, rig, id);
      const state = await browser.contexts()[0]?.storageState();
      expect(state?.origins.toSorted(byName)).toEqual(origins);
      await browser.close();
    }
  });

  const sites = [
    "http://site.example",
    "http://site.example:8080",
    "https://site.example:8443",
    "http://localhost:3000",
    "http://127.0.0.1:3000",
    "http://10.0.0.1",
    "http://[::1]:3000",
    "https://a.site.example",
    "https://b.site.example",
    // Every browser knows it as a site of https alone.
    "http://accounts.google.com",
    "https://bücher.example",
    "https://UPPER.example",
    "https://slash.example/",
  ];
  test("reaches origins of every kind", async () => {
    await place({
      origins: sites.map((origin) => ({ origin, localStorage: [item("at", origin)] })),
    });
    const browser = await byCdp(rig, id);
    for (const site of sites)
      expect(await readAt(browser, site, "localStorage.getItem('at')")).toBe(site);
    expect(losses()).toEqual([]);
  });

  const odd = {
    "": "",
    plain: "text",
    __proto__2: "a",
    "</script><!--": "</script><script>alert(1)</script><!-- <script>",
    "quotes ' \" ` \\ ${1}": "' \" ` \\ ${1}",
    "\u2028 \n \0": "\u2028 \r\n\t \0",
    "🦄 中 é": "🦄 中 é",
    "\ud800": "\udfff alone \ud800",
  };
  test("has the items of localStorage as they were, whatever they are", async () => {
    const entries = Object.entries({ ...odd, ["__proto__"]: "b" });
    const localStorage = entries.map(([name, value]) => item(name, value));
    const large = "x中".repeat(200_000);
    await place({
      origins: [
        { origin: "https://odd.example", localStorage },
        { origin: "https://large.example", localStorage: [item("large", large)] },
      ],
    });
    const browser = await byCdp(rig, id);
    const read = `JSON.stringify(Array.from({ length: localStorage.length }, (_, at) => localStorage.key(at))
      .sort((a, b) => (a < b ? -1 : 1)).map((name) => [name, localStorage.getItem(name)]))`;
    const found = await readAt(browser, "https://odd.example", read);
    expect(found).toBe(JSON.stringify(entries.toSorted(([a], [b]) => (a < b ? -1 : 1))));
    const isWhole = await readAt(
      browser,
      "https://large.example",
      "localStorage.large === 'x中'.repeat(200_000)",
    );
    expect(isWhole).toBe(true);
  });

  test("has the databases as they were, with values that JSON has no words for", async () => {
    const values = `({ at: new Date(7), bytes: new Uint8Array([1, 2]), buffer: new ArrayBuffer(2), map: new Map([[1, new Set(["a"])]]),
      big: 12n, none: undefined, nil: null, nan: NaN, minus: -0, ends: [Infinity, -Infinity], exp: /a+/gi, url: "u", list: [1, [2]] })`;
    const write = `new Promise((resolve) => {
      const open = indexedDB.open("d", 3);
      open.onupgradeneeded = () => {
        open.result.createObjectStore("keyed", { keyPath: "id" }).createIndex("i", ["a", "b"], { unique: true });
        open.result.createObjectStore("counted", { autoIncrement: true });
        open.result.createObjectStore("free");
      };
      open.onsuccess = () => {
        const writing = open.result.transaction(["keyed", "counted", "free"], "readwrite");
        writing.objectStore("keyed").add({ id: 1, a: 1, b: 2 });
        writing.objectStore("counted").add("first");
        writing.objectStore("free").add(${values}, "k");
        writing.objectStore("free").add("by date", new Date(5));
        writing.oncomplete = () => (open.result.close(), resolve());
      };
    })`;
    const origin = "https://data.example";
    await rig.place(`${id}-writer`);
    const writer = await byWire(rig, `${id}-writer`);
    await readAt(writer, origin, write);
    const state = await writer.contexts()[0]?.storageState({ indexedDB: true });
    expect(state?.origins[0]?.origin).toBe(origin);
    await rig.delete(`${id}-writer`);
    await place(state ?? {});
    const reader = await byWire(rig, id);
    expect(await reader.contexts()[0]?.storageState({ indexedDB: true })).toEqual(state);
  });

  test("has the files of an origin", async () => {
    const opfs = [
      { path: "folder", type: "directory" },
      { path: "folder/a.txt", type: "file", base64: Buffer.from("file é").toString("base64") },
    ];
    await place({ origins: [{ origin: "https://files.example", opfs }] });
    const read = `navigator.storage.getDirectory()
      .then((root) => root.getDirectoryHandle("folder"))
      .then((folder) => folder.getFileHandle("a.txt"))
      .then((handle) => handle.getFile())
      .then((file) => file.text())`;
    expect(await readAt(await byCdp(rig, id), "https://files.example", read)).toBe("file é");
  });

  test("has its passkeys, beside all else", async () => {
    await rig.place(`${id}-writer`);
    const writer = (await byWire(rig, `${id}-writer`)).contexts()[0];
    await writer?.credentials.create("site.example");
    const credentials = await writer?.credentials.get();
    expect(credentials).toHaveLength(1);
    await rig.delete(`${id}-writer`);
    const cookies = [{ name: "n", value: "v", domain: "site.example" }];
    const origins = originsOf(1);
    await place({ credentials, cookies, origins });
    const reader = (await byWire(rig, id)).contexts()[0];
    expect(await reader?.credentials.get()).toEqual(credentials);
    expect(await reader?.storageState()).toMatchObject({ cookies, origins });
  });

  test("loads without the parts that no browser takes, and the log counts them", async () => {
    const store = { name: "s", autoIncrement: false, keyPath: "id", indexes: [] };
    const records = [{ value: { id: 1 } }, { value: { id: 1 } }, { value: "secret-value" }];
    const bad = { ...store, name: "bad", keyPath: "not a path", records: [] };
    const database = { name: "d", version: 1, stores: [{ ...store, records }, bad] };
    const plain = { ...store, keyPath: "a.b" };
    const odd: unknown = JSON.parse('{"a":{"b":1},"__proto__":{"c":2}}');
    const other = { name: "e", version: 1, stores: [{ ...plain, records: [{ value: odd }] }] };
    const deepest = { name: "f", version: 1, stores: [{ ...plain, records: [{ value: DEEP }] }] };
    await place({
      cookies: [
        { name: "", value: "__Host-x=secret-value", domain: "site.example" },
        { name: "good", value: "1", domain: "site.example" },
      ],
      origins: [
        { origin: "https://site.example", indexedDB: [database, other] },
        { origin: "https://deep.example", indexedDB: [deepest] },
      ],
    });
    const browser = await byCdp(rig, id);
    const cookies = await browser.contexts()[0]?.cookies();
    expect(cookies?.map(({ name }) => name)).toEqual(["good"]);
    expect(losses()).toMatchObject([{ cookies: 1, origins: 1, entries: 3 }]);
    const kept = `new Promise((resolve) => {
      const open = indexedDB.open("e");
      open.onsuccess = () => {
        const read = open.result.transaction("s").objectStore("s").get(1);
        read.onsuccess = () => resolve(JSON.stringify(read.result));
      };
    })`;
    expect(await readAt(browser, "https://site.example", kept)).toBe(JSON.stringify(odd));
    expect(rig.stderr).not.toContain("secret-value");
  });

  test("loads whenever a save accepts it", async () => {
    for (const state of oddStates(24)) {
      const { storageState } = SaveProfile.parse({ storageState: state });
      expect((await rig.put(id, stored(storageState))).status).toBe(201);
      await rig.delete(id);
      id += "-next";
    }
  });
});
