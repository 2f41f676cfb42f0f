import { StorageState } from "@svc/contract/browser/storage-state.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { signalIfThere } from "../support/process/process-tree.ts";
import { Rig } from "./rig.ts";
import { byCdp, byPuppeteer, byWire, firstPage } from "./clients.ts";
import { describeKinds } from "./kinds.ts";
import { browsersOf } from "./processes.ts";
import { Site } from "./site.ts";

// In the browser: every kind of value that a state has words for, and one that it has none for.
const WRITE = `new Promise((resolve, reject) => {
  document.cookie = "host=only; max-age=3600; samesite=strict";
  document.cookie = "session=1";
  document.cookie = "past=1; max-age=0";
  localStorage.setItem("l", "local");
  localStorage.setItem("length", "odd");
  const open = indexedDB.open("d", 3);
  open.onupgradeneeded = () => {
    const store = open.result.createObjectStore("s");
    store.createIndex("i", ["a", "b"], { unique: true });
    open.result.createObjectStore("auto", { keyPath: "id", autoIncrement: true });
    open.result.createObjectStore("empty");
  };
  open.onerror = () => reject(open.error);
  open.onsuccess = () => {
    const write = open.result.transaction(["s", "auto"], "readwrite");
    const loop = { name: "loop" };
    loop.self = loop;
    const values = {
      plain: { a: 1, b: ["x", null, true], "": { __proto__: null } },
      numbers: [NaN, -0, Infinity, -Infinity, 12n ** 20n, undefined],
      date: new Date(7), never: new Date(NaN), pattern: /a+/gi, error: new TypeError("oops"),
      bytes: new Uint8Array([1, 2]), floats: new Float64Array([0.5]), buffer: new Uint8Array([9]).buffer,
      map: new Map([[{ k: 1 }, new Set([1, "two"])]]), loop, odd: "\\ud800\\u0000",
    };
    for (const [key, value] of Object.entries(values)) write.objectStore("s").put(value, key);
    write.objectStore("s").put("by date", new Date(5));
    write.objectStore("s").put("by list", ["x", 1, new Uint8Array([3]).buffer]);
    write.objectStore("s").put(new Blob(["no words"]), "blob");
    write.objectStore("auto").put({ text: "one" });
    write.oncomplete = () => (open.result.close(), resolve());
  };
})`;
const READ = `new Promise((resolve) => {
  const open = indexedDB.open("d");
  open.onsuccess = async () => {
    const base = open.result;
    const done = (request) => new Promise((ok) => (request.onsuccess = () => ok(request.result)));
    const store = base.transaction("s").objectStore("s");
    const get = (key) => done(store.get(key));
    const [plain, numbers, date, never, pattern, error, bytes, floats, buffer, map, loop, odd, byDate, byList, blob] =
      await Promise.all(["plain", "numbers", "date", "never", "pattern", "error", "bytes", "floats", "buffer", "map",
        "loop", "odd", new Date(5), ["x", 1, new Uint8Array([3]).buffer], "blob"].map(get));
    const { keyPath, unique } = store.index("i");
    const auto = base.transaction("auto").objectStore("auto");
    const next = await done(base.transaction("auto", "readwrite").objectStore("auto").put({ text: "two" }));
    resolve(JSON.stringify({
      cookie: document.cookie.split("; ").sort(),
      local: Object.entries(localStorage).sort(),
      version: base.version, names: [...base.objectStoreNames], index: { keyPath, unique },
      auto: { keyPath: auto.keyPath, autoIncrement: auto.autoIncrement, next },
      plain, numbers: numbers.map(String), zero: Object.is(numbers[1], -0), date: date.getTime(), never: String(never),
      pattern: String(pattern), error: [error.name, error.message, error instanceof Error],
      bytes: [bytes.constructor.name, ...bytes], floats: [floats.constructor.name, ...floats],
      buffer: [...new Uint8Array(buffer)],
      map: [...map].map(([key, set]) => [key, [...set]]), loop: [loop.name, loop.self === loop],
      odd, byDate, byList, blob: blob === undefined,
    }));
  };
})`;

describeKinds("the state of a live browser", (kind) => {
  let site: Site;
  let rig: Rig;

  beforeAll(async () => {
    site = await new Site().start();
    const env = { SVC_EGRESS_ALLOW: `127.0.0.1:${site.port}` };
    rig = await Rig.start({ kind, env });
  });
  afterAll(async () => {
    await rig.stop();
    site.stop();
  });

  async function place(text?: string): Promise<string> {
    const id = crypto.randomUUID();
    const statePath = `/objects/${id}`;
    if (text !== undefined) rig.gateway.objects.set(statePath, { status: 200, body: text });
    await rig.place(id, text === undefined ? {} : { profile: { statePath } });
    onTestFinished(async () => void (await rig.delete(id)));
    return id;
  }

  const read = (id: string) => rig.call("POST", `/slots/${id}/state`, id);

  test.each([
    ["/ws", byWire],
    ["/cdp", byCdp],
  ] as const)(
    "written over %s, has every kind of value in the next browser",
    async (_, connect) => {
      const id = await place();
      const browser = await connect(rig, id);
      const page = firstPage(browser);
      await page.goto(site.url);
      await page.evaluate(WRITE);
      const written = JSON.parse(
        String(await page.evaluate(READ.replace('.put({ text: "two" })', ".count()"))),
      );
      site.seen.length = 0;
      const answer = await read(id);
      expect(answer.status).toBe(200);
      // The blob.
      expect(answer.headers.get("x-svc-lost")).toBe("1");
      const text = await answer.text();
      expect(site.seen).toEqual([]);
      // The customer saw no other tab, and has those of its own.
      expect(browser.contexts().flatMap((context) => context.pages())).toEqual([page]);
      const state = StorageState.parse(JSON.parse(text));
      expect(
        state.cookies.map(({ name, sameSite, expires }) => [name, sameSite, expires > 0]),
      ).toEqual(
        expect.arrayContaining([
          ["host", "Strict", true],
          ["session", "Lax", false],
        ]),
      );
      await browser.close();
      const next = await place(text);
      const other = firstPage(await byCdp(rig, next));
      await other.goto(site.url);
      const found = JSON.parse(String(await other.evaluate(READ)));
      expect(found).toMatchObject({
        ...written,
        auto: { keyPath: "id", autoIncrement: true, next: 2 },
        blob: true,
      });
      expect(found.numbers).toEqual([
        "NaN",
        "0",
        "Infinity",
        "-Infinity",
        String(12n ** 20n),
        "undefined",
      ]);
      expect(found).toMatchObject({ zero: true, loop: ["loop", true], odd: "\ud800\u0000" });
    },
  );

  test("has what a tab has left that was closed, and nothing of other contexts", async () => {
    const id = await place();
    const browser = await byWire(rig, id);
    const [context] = browser.contexts();
    const page = firstPage(browser);
    const closed = await context?.newPage();
    await closed?.goto(site.url);
    await closed?.evaluate(`localStorage.setItem("left", "behind")`);
    await closed?.close();
    const other = await (await browser.newContext()).newPage();
    await other.goto(site.url);
    await other.evaluate(`localStorage.setItem("mine", "alone")`);
    await page.evaluate("1");
    const state = StorageState.parse(await (await read(id)).json());
    expect(state.origins).toMatchObject([
      { origin: site.url, localStorage: [{ name: "left", value: "behind" }] },
    ]);
    expect(state.origins).toHaveLength(1);
    await browser.close();
  });

  test("is read while a client opens tabs, and the client has all of them", async () => {
    const id = await place();
    const browser = await byPuppeteer(rig, id);
    // An origin to read: else no tab is opened for it.
    await (await browser.pages())[0]?.goto(site.url);
    const seen: string[] = [];
    browser.on("targetcreated", (target) => void seen.push(target.type()));
    const reading = read(id);
    const pages = await Promise.all(Array.from({ length: 3 }, () => browser.newPage()));
    const [page] = pages;
    const popups = page?.evaluate("for (let n = 0; n < 2; n += 1) open('about:blank'); 1");
    expect((await reading).status).toBe(200);
    await popups;
    await expect.poll(async () => (await browser.pages()).length, { timeout: 60_000 }).toBe(6);
    // Nor has it heard of the one of the pool.
    expect(seen.filter((type) => type === "page")).toHaveLength(5);
    await browser.disconnect();
  });

  test("above the limit it is refused, and the browser goes on", async () => {
    const id = await place();
    const browser = await byCdp(rig, id);
    const page = firstPage(browser);
    await page.goto(site.url);
    await page.evaluate(`new Promise((resolve) => {
      const open = indexedDB.open("large", 1);
      open.onupgradeneeded = () => open.result.createObjectStore("s");
      open.onsuccess = () => {
        const write = open.result.transaction("s", "readwrite");
        write.objectStore("s").put("x".repeat(${LIMITS.profileStateBytes}), "k");
        write.oncomplete = resolve;
      };
    })`);
    expect((await read(id)).status).toBe(413);
    await page.evaluate(`indexedDB.deleteDatabase("large")`);
    expect((await read(id)).status).toBe(200);
    await browser.close();
  });

  test.runIf(kind === "fast")(
    "of a browser that does not answer it is 502 while the gateway waits, however many ask",
    async () => {
      const id = await place();
      const browsers = browsersOf(rig.child.pid ?? 0);
      for (const pid of browsers) signalIfThere(pid, "SIGSTOP");
      onTestFinished(() => {
        for (const pid of browsers) signalIfThere(pid, "SIGCONT");
      });
      const beganAt = performance.now();
      const answers = await Promise.all([read(id), read(id)]);
      expect(answers.map(({ status }) => status)).toEqual([502, 502]);
      expect(await answers[1]?.text()).toBe("The browser did not tell its state\n");
      const waitedMs = performance.now() - beganAt;
      expect(waitedMs).toBeLessThan(LIMITS.profileReadMs + LIMITS.hostAnswerMs);
    },
  );

  test("of a session that is not here it is 404", async () => {
    expect((await read("nobody")).status).toBe(404);
  });
});
