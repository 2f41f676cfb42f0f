import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Profile, ProfileList, ProfileSaved } from "@svc/contract/browser/profile.ts";
import { SessionFile, SessionFiles } from "@svc/contract/browser/session-file.ts";
import { SessionCreated } from "@svc/contract/browser/session.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { chromium } from "playwright-core";
import { afterAll, describe, expect, test, vi } from "vitest";
import { PATIENT, testGateway } from "../support/process/gateway.ts";
import { missingBrowser } from "../support/process/needs.ts";
import { PoolProcess } from "../support/process/pool.ts";

const PATIENCE = { timeout: 90_000, interval: 100 };
vi.setConfig({ testTimeout: 400_000 });
const LARGE = Buffer.alloc(LIMITS.sessionFileBytes, "0123456789");
const sum = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

describe.skipIf(await missingBrowser())("through the whole service", async () => {
  const site = createServer((request, response) => {
    if (request.url !== "/large") {
      response.setHeader("content-type", "text/html");
      return void response.end("<title>site</title><a id=d href=/large>download</a>");
    }
    response.setHeader("content-disposition", `attachment; filename*=UTF-8''gro%C3%9F.bin`);
    response.setHeader("content-type", "application/octet-stream");
    response.end(LARGE);
  }).listen(0, "127.0.0.1");
  await once(site, "listening");
  const address = `127.0.0.1:${(site.address() as AddressInfo).port}`;
  const gateway = await testGateway(PATIENT);
  const pool = await PoolProcess.start(gateway, { SVC_EGRESS_ALLOW: address });
  const key = await gateway.newKey("professional");
  afterAll(async () => {
    await pool.close();
    await gateway.close();
    site.closeAllConnections();
    site.close();
  });

  const call = (path: string, init: RequestInit = {}) =>
    fetch(new URL(path, gateway.url), { ...init, headers: { authorization: `Bearer ${key}` } });
  const post = (path: string, body: object) =>
    call(path, { method: "POST", body: JSON.stringify(body) });

  async function create(ask: object = {}) {
    const session = SessionCreated.parse(await (await post("/sessions", ask)).json());
    const browser = await chromium.connect(session.wsEndpoint);
    const page = browser.contexts()[0]?.pages()[0];
    if (!page) throw new Error("a new session has a page");
    return { id: session.sessionId, browser, page };
  }

  test("100 MiB go down and up whole", async () => {
    const { id, browser, page } = await create();
    await page.goto(`http://${address}`);
    await page.click("#d");
    const file = await vi.waitFor(async () => {
      const { files } = SessionFiles.parse(await (await call(`/sessions/${id}/files`)).json());
      expect(files).toMatchObject([{ name: "groß.bin", state: "complete" }]);
      return SessionFile.parse(files[0]);
    }, PATIENCE);
    const down = await fetch(file.url ?? "");
    expect(down.headers.get("content-disposition")).toContain("filename*=UTF-8''gro%C3%9F.bin");
    expect(sum(await down.bytes())).toBe(sum(LARGE));
    const put = { method: "PUT", body: LARGE };
    const up = await call(`/sessions/${id}/files/up`, put);
    expect(await up.json()).toMatchObject({ path: "/files/up", bytes: LARGE.length });
    const entry = SessionFile.parse(await (await call(`/sessions/${id}/files/up`)).json());
    expect(sum(await (await fetch(entry.url ?? "")).bytes())).toBe(sum(LARGE));
    await browser.close();
    await call(`/sessions/${id}`, { method: "DELETE" });
    expect((await fetch(file.url ?? "")).status).toBe(409);
  });

  test("a profile is saved from a live browser, and again as the session ends; two sessions have it at once", async () => {
    const { id, browser, page } = await create();
    await page.goto(`http://${address}`);
    await page.evaluate(`localStorage.setItem("who", "one")`);
    const saved = await post(`/sessions/${id}/save-profile`, { name: "who" });
    expect(saved.status).toBe(200);
    const { profileId } = ProfileSaved.parse(await saved.json());
    await browser.close();
    const ask = { profileId, saveProfileOnRelease: true };
    const both = [await create(ask), await create(ask)];
    for (const { page: other } of both) {
      await other.goto(`http://${address}`);
      expect(await other.evaluate(`localStorage.getItem("who")`)).toBe("one");
    }
    await both[0]?.page.evaluate(`localStorage.setItem("who", "two")`);
    const version = (wanted: number) =>
      vi.waitFor(async () => {
        const [profile] = ProfileList.parse(await (await call("/profiles")).json());
        expect(profile?.version).toBe(wanted);
      }, PATIENCE);
    await call(`/sessions/${both[1]?.id}`, { method: "DELETE" });
    await version(2);
    // The client that goes ends its session.
    await both[0]?.browser.close();
    await version(3);
    const last = await create({ profileId });
    await last.page.goto(`http://${address}`);
    expect(await last.page.evaluate(`localStorage.getItem("who")`)).toBe("two");
    const restored = await post(`/profiles/${profileId}/restore`, { version: 1 });
    expect(await restored.json()).toMatchObject({ version: 4 });
    const first = await create({ profileId });
    await first.page.goto(`http://${address}`);
    expect(await first.page.evaluate(`localStorage.getItem("who")`)).toBe("one");
  });

  test("a state that Playwright wrote, with IndexedDB, is a profile", async () => {
    const { browser, page } = await create();
    await page.goto(`http://${address}`);
    await page.evaluate(`new Promise((resolve) => {
      const open = indexedDB.open("d", 2);
      open.onupgradeneeded = () => open.result.createObjectStore("s").put({ at: new Date(7), n: 5n }, "k");
      open.onsuccess = () => (open.result.close(), resolve());
    })`);
    const storageState = await page.context().storageState({ indexedDB: true });
    await browser.close();
    const made = await post("/profiles", { name: "theirs" });
    const { id: profileId } = Profile.parse(await made.json());
    expect((await post(`/profiles/${profileId}/save`, { storageState })).status).toBe(200);
    const next = await create({ profileId });
    await next.page.goto(`http://${address}`);
    const found = await next.page.evaluate(`new Promise((resolve) => {
      const open = indexedDB.open("d");
      open.onsuccess = () => {
        const get = open.result.transaction("s").objectStore("s").get("k");
        get.onsuccess = () => resolve([get.result.at.getTime(), String(get.result.n)]);
      };
    })`);
    expect(found).toEqual([7, "5"]);
    await next.browser.close();
  });
});
