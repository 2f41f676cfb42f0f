import { LIMITS } from "@svc/contract/limits.ts";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { byCdp, byWire, firstPage } from "./clients.ts";
import { describeKinds } from "./kinds.ts";
import { Rig } from "./rig.ts";
import { Site } from "./site.ts";

// In the browser: a value of each store a site has.
const WRITE = `new Promise((resolve, reject) => {
  document.cookie = "c=cookie; max-age=3600";
  localStorage.setItem("l", "local");
  const open = indexedDB.open("d", 1);
  open.onupgradeneeded = () => open.result.createObjectStore("s");
  open.onerror = () => reject(open.error);
  open.onsuccess = () => {
    const write = open.result.transaction("s", "readwrite");
    write.objectStore("s").put({ at: new Date(7), bytes: new Uint8Array([1, 2]) }, "k");
    write.oncomplete = () => (open.result.close(), resolve());
  };
})`;
const READ = `new Promise((resolve) => {
  const local = { cookie: document.cookie, local: localStorage.getItem("l") };
  const open = indexedDB.open("d");
  open.onupgradeneeded = () => open.transaction.abort();
  open.onerror = () => resolve({ ...local, record: null });
  open.onsuccess = () => {
    const read = open.result.transaction("s").objectStore("s").get("k");
    read.onsuccess = () => {
      const { at, bytes } = read.result;
      resolve({ ...local, record: [at.getTime(), ...bytes] });
    };
  };
})`;
const WRITTEN = { cookie: "c=cookie", local: "local", record: [7, 1, 2] };

describeKinds("a session with a profile", (kind) => {
  let site: Site;
  let rig: Rig;
  let state: { cookies: object[]; origins: object[] };
  let count = 0;
  let id: string;

  beforeAll(async () => {
    site = await new Site().start();
    rig = await Rig.start({
      kind,
      env: { SVC_EGRESS_ALLOW: `127.0.0.1:${site.port}`, SVC_MAX_FAST: "2", SVC_MAX_STEALTH: "2" },
    });
    await rig.place("writer");
    const page = firstPage(await byWire(rig, "writer"));
    await page.goto(site.url);
    await page.evaluate(WRITE);
    state = await page.context().storageState({ indexedDB: true });
    await rig.delete("writer");
  });
  afterAll(async () => {
    await rig.stop();
    site.stop();
  });
  beforeEach(() => {
    count += 1;
    id = `s${count}`;
    site.seen.length = 0;
    return async () => void (await rig.delete(id));
  });

  /** A profile whose state is this text, as a placement names it. */
  function stored(body: string, status = 200): { profile: { statePath: string } } {
    const statePath = `/objects/${id}.signed`;
    rig.gateway.objects.set(statePath, { status, body });
    return { profile: { statePath } };
  }

  test.each([
    ["/ws", byWire],
    ["/cdp", byCdp],
  ] as const)("has its cookies, localStorage and IndexedDB on %s", async (_endpoint, open) => {
    await rig.place(id, stored(JSON.stringify(state)));
    const browser = await open(rig, id);
    expect(browser.contexts().map((context) => context.pages().length)).toEqual([1]);
    const page = firstPage(browser);
    expect(page.url()).toBe("about:blank");
    // Loading the state has asked its site for nothing.
    expect(site.seen).toEqual([]);
    await page.goto(site.url);
    expect(await page.evaluate(READ)).toEqual(WRITTEN);
  });

  test("sends its cookies with the first request", async () => {
    await rig.place(id, stored(JSON.stringify(state)));
    const page = firstPage(await byCdp(rig, id));
    const [request] = await Promise.all([page.waitForRequest(site.url), page.goto(site.url)]);
    expect(await request.headerValue("cookie")).toBe("c=cookie");
  });

  test("of cookies alone has them with all that they say", async () => {
    const said = { path: "/p", expires: 4e9, httpOnly: true, secure: true, sameSite: "None" };
    const cookies = [
      { name: "a", value: "1", domain: ".site.test", ...said },
      { name: "b", value: "2", domain: "site.test" },
      { name: "c", value: "3", domain: "site.test", ...said, partitionKey: "https://top.test" },
    ];
    for (const list of [cookies.slice(0, 2), cookies]) {
      await rig.place(id, stored(JSON.stringify({ cookies: list })));
      const context = (await byWire(rig, id)).contexts()[0];
      const found = (await context?.cookies())?.toSorted((x, y) => (x.name < y.name ? -1 : 1));
      const bare = { path: "/", expires: -1, httpOnly: false, secure: false, sameSite: "Lax" };
      const expected = list.map((cookie) => ({ ...bare, ...cookie, expires: expect.any(Number) }));
      expect(found).toEqual(expected.map((cookie) => expect.objectContaining(cookie)));
      await rig.delete(id);
      id += "-next";
    }
  });

  test("is fetched by its path alone, with no other credential", async () => {
    await rig.place(id, stored("{}"));
    expect(rig.gateway.asked.at(-1)).not.toHaveProperty("authorization");
    expect(rig.gateway.asked.at(-1)).not.toHaveProperty("cookie");
  });

  test("leaves nothing to a session without one", async () => {
    await rig.place(id);
    const page = firstPage(await byWire(rig, id));
    await page.goto(site.url);
    expect(await page.evaluate(READ)).toEqual({ cookie: "", local: null, record: null });
  });

  const cookie = { name: "n", value: "secret-value", domain: "site.test" };
  const origin = "http://site.test";
  const indexedDB = [{ name: "d", version: "one", stores: 7 }];
  const tooLarge = "x".repeat(LIMITS.profileStateBytes);
  test.each([
    ["no JSON", "<html>", "JSON"],
    ["no object", "[]", "object"],
    ["cookies that are none", JSON.stringify({ cookies: [{ name: 1 }] }), "cookies.0.name"],
    [
      "a cookie that no browser takes",
      JSON.stringify({ cookies: [{ ...cookie, name: "a\nb;" }] }),
      "cookies.0.name",
    ],
    [
      "an origin that is a file",
      JSON.stringify({ origins: [{ origin: "file:///etc/passwd" }] }),
      "origins.0.origin",
    ],
    [
      "an origin that ends the page",
      JSON.stringify({ origins: [{ origin: "chrome://crash" }] }),
      "origins.0.origin",
    ],
    [
      "databases that are none",
      JSON.stringify({ origins: [{ origin, indexedDB }] }),
      "origins.0.indexedDB.0.version",
    ],
    ["above 1 MiB", JSON.stringify({ cookies: [], padding: tooLarge }), "bytes"],
  ])("whose state is %s costs no browser: 422 that says why", async (_what, body, why) => {
    await rig.warm();
    const refused = await rig.put(id, stored(body));
    expect([refused.status, await refused.json()]).toEqual([
      422,
      { code: "ProfileUnloadable", error: expect.stringContaining(why) },
    ]);
    expect(rig.stderr).not.toContain("secret-value");
  });

  test.each([404, 410, 500, 302])(
    "whose state is answered with %i is not placed, and may be tried again",
    async (status) => {
      const refused = await rig.put(id, stored("", status));
      expect([refused.status, await refused.json()]).toEqual([
        502,
        { code: "ProfileUnavailable", error: expect.any(String), retryable: true },
      ]);
    },
  );

  test("that was refused leaves its id to be placed again", async () => {
    const garbage = JSON.stringify({ cookies: [{ ...cookie, name: "a\nb;" }] });
    for (let tries = 0; tries < 4; tries += 1)
      expect((await rig.put(id, stored(garbage))).status).toBe(422);
    const { seq } = await rig.place(id, stored(JSON.stringify(state)));
    await rig.gateway.beat(
      (beat) => beat.seq > seq && beat.kinds[kind]?.busy === 1 && beat.kinds[kind].idle === 1,
    );
  });

  test("whose caller goes away while it is loaded takes no slot", async () => {
    const caller = new AbortController();
    const gone = rig.put(id, stored(JSON.stringify(state)), { signal: caller.signal });
    await rig.delete(id);
    caller.abort();
    await gone.catch(() => null);
    const beat = await rig.gateway.beat(({ kinds }) => kinds[kind]?.busy === 0);
    expect(beat.slots).toEqual([]);
  });
});
