// Browser sessions and the raw DevTools driver of the sdk, on a real gateway with a real pool.
import { Cdp, CdpError } from "@svc/sdk/cdp.ts";
import {
  ConcurrencyLimitError,
  ConnectionError,
  NotFoundError,
  Svc,
  TimeoutError,
} from "@svc/sdk/index.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startSite } from "../support/fakes/site.ts";
import { PATIENT, type TestGateway, testGateway } from "../support/process/gateway.ts";
import { missingBrowser } from "../support/process/needs.ts";
import { PoolProcess } from "../support/process/pool.ts";

describe.skipIf(await missingBrowser())("browsers", () => {
  let gateway: TestGateway;
  let pool: PoolProcess;
  let site: Awaited<ReturnType<typeof startSite>>;
  let svc: Svc;
  beforeAll(async () => {
    [gateway, site] = await Promise.all([testGateway(PATIENT), startSite()]);
    pool = await PoolProcess.start(gateway, { SVC_EGRESS_ALLOW: site.address });
    svc = new Svc({ apiKey: await gateway.newKey(), baseUrl: gateway.url.origin });
  });
  afterAll(async () => {
    await pool?.close();
    await gateway?.close();
    site?.close();
  });

  test("a session is driven over its DevTools socket, and released at the end of its block", async () => {
    let id = "";
    {
      await using browser = await svc.browsers.create();
      ({ id } = browser);
      const cdp = await Cdp.connect(browser.cdpEndpoint);
      const page = await cdp.newPage();
      await page.send("Page.enable");
      const loaded = page.once("Page.loadEventFired");
      await page.send("Page.navigate", { url: site.url });
      await loaded;
      const { result } = await page.send("Runtime.evaluate", { expression: "location.href" });
      expect(result).toMatchObject({ type: "string", value: site.url });
      await expect(page.send("Nothing.real")).rejects.toBeInstanceOf(CdpError);
      await expect(page.once("Page.never", { timeoutMs: 20 })).rejects.toBeInstanceOf(TimeoutError);
      await page.detach();
      await expect(page.send("Page.enable")).rejects.toBeInstanceOf(CdpError);
      const reason = new Error("enough");
      const lost = cdp.send("Browser.getVersion", {}, { signal: AbortSignal.abort(reason) });
      await expect(lost).rejects.toBe(reason);
      cdp.close();
      await cdp.closed;
      await expect(cdp.send("Browser.getVersion")).rejects.toBeInstanceOf(ConnectionError);
      await expect(Cdp.connect(`${browser.cdpEndpoint}x`)).rejects.toBeInstanceOf(ConnectionError);
    }
    expect(await svc.browsers.get(id)).toMatchObject({ status: "released" });
    await svc.browsers.release(id);
    await expect(svc.browsers.release("nobody")).rejects.toBeInstanceOf(NotFoundError);
  });

  test("a session that is kept lives on, is found by its id and in the list", async () => {
    let id = "";
    {
      await using browser = (await svc.browsers.create({ lease: { idleSeconds: 60 } })).keep();
      ({ id } = browser);
    }
    const browser = await svc.browsers.connect(id);
    expect(browser.cdpEndpoint).toContain("/cdp/");
    expect(await browser.renewLease(120)).toMatchObject({ idleSeconds: 120 });
    const ids: string[] = [];
    for await (const one of svc.browsers.list({ status: "active", limit: 1 })) ids.push(one.id);
    expect(ids).toContain(id);
    await browser.release();
  });

  test("a replay is waited for, decompressed and read event by event", async () => {
    const browser = await svc.browsers.create({ recording: true });
    const cdp = await Cdp.connect(browser.cdpEndpoint);
    const page = await cdp.newPage(site.url);
    await page.send("Runtime.evaluate", { expression: "document.title" });
    await browser.release();
    const { contentEncoding } = await browser.replay().wait();
    expect(contentEncoding).toBe("gzip");
    const events = [];
    for await (const event of browser.replay().events()) events.push(event);
    expect(events).not.toEqual([]);
    const plain = await svc.browsers.create();
    await plain.release();
    await expect(plain.replay().wait()).rejects.toMatchObject({ code: "ReplayUnavailable" });
  });

  test("beyond the cap a create is one request, and its error names who has the places", async () => {
    const one = new Svc({
      apiKey: await gateway.newKey("free", { browsers: 1 }),
      baseUrl: gateway.url.origin,
    });
    await using browser = await one.browsers.create();
    const error = await one.browsers.create().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ConcurrencyLimitError);
    expect(error).toMatchObject({ plan: "free", cap: 1, holders: [browser.id] });
  });

  test("profiles are made, saved, loaded and deleted", async () => {
    const { id } = await svc.profiles.create("shop");
    const { items } = await svc.profiles.list().page();
    expect(items).toMatchObject([{ id, name: "shop" }]);
    const cookie = { name: "a", value: "b", domain: "shop.test", path: "/" };
    expect(await svc.profiles.save(id, { cookies: [cookie], origins: [] })).toMatchObject({
      version: 1,
    });
    await using browser = await svc.browsers.create({ profileId: id });
    expect(browser.storageStateUrl).toMatchObject({ url: expect.stringContaining("http") });
    await svc.profiles.delete(id);
    await expect(svc.profiles.delete(id)).rejects.toBeInstanceOf(NotFoundError);
  });
});
