import { chromium } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { forged, type OpenSession, type OrgCaller, type Service } from "../caller.ts";
import { cdp, open, upgrade } from "../sockets.ts";

/** How long an upgrade waits for a pool that is away. */
const POOL_WAIT_MS = 15_000;

/** Document 1: WebSocket upgrades. */
export function sockets(service: Service): void {
  drives(service);
  refuses(service);
}

function drives(service: Service): void {
  describe("the endpoints of a session", () => {
    test("drive its browser on a real page, by Playwright's protocol and by DevTools, at once", async () => {
      const org = await service.newOrg();
      await using session = await org.open();
      const [wire, devtools] = await Promise.all([
        chromium.connect(session.created.wsEndpoint),
        chromium.connectOverCDP(session.created.cdpEndpoint),
      ]);
      const [one, two] = [wire, devtools].map((browser) => browser.contexts()[0]?.pages()[0]);
      await one?.goto(service.site);
      expect(await one?.title()).not.toBe("");
      await two?.waitForURL(service.site);
      expect(await two?.title()).toBe(await one?.title());
    });

    test("speak plain DevTools on /cdp", async () => {
      const org = await service.newOrg();
      await using session = await org.open();
      const socket = await open(session.created.cdpEndpoint);
      expect(await cdp(socket, "Browser.getVersion")).toHaveProperty("product");
      socket.terminate();
    });

    test("ask no key: the URL is the capability, whatever Authorization comes with it", async () => {
      const org = await service.newOrg();
      await using session = await org.open();
      for (const endpoint of [session.created.wsEndpoint, session.created.cdpEndpoint]) {
        const { status, socket } = await upgrade(endpoint, { authorization: "Bearer wrong" });
        expect(status).toBe(101);
        socket?.terminate();
      }
    });
  });
}

function refuses(service: Service): void {
  describe.each(["ws", "cdp"])("an upgrade of /%s", (name) => {
    let org: OrgCaller;
    let session: OpenSession;
    beforeAll(async () => {
      org = await service.newOrg();
      session = await org.open();
    });
    afterAll(() => session[Symbol.asyncDispose]());

    const ask = (path: string) => upgrade(new URL(path, service.base));
    const refused = (status: number) => ({
      status,
      type: expect.stringMatching(/^text\/plain/),
      text: expect.stringMatching(/./),
      socket: null,
    });

    test.each(["", "/", "/a/b"])("on a path that ends in %o is 404 as plain text", async (rest) => {
      expect(await ask(`/${name}${rest}`)).toEqual(refused(404));
    });

    test("with a malformed, cut or forged id is 401 as plain text", async () => {
      const ids = ["nope", session.id.slice(0, -1), forged(session.id), `${session.id}.x`];
      for (const id of ids)
        expect(await ask(`/${name}/${encodeURIComponent(id)}`)).toEqual(refused(401));
    });

    test("of a released session is 404 as plain text, without the wait for a pool", async () => {
      await using released = await org.open();
      await org.delete(released.path);
      const before = Date.now();
      const answer = await ask(`/${name}/${encodeURIComponent(released.id)}`);
      expect(answer).toEqual(refused(404));
      expect(Date.now() - before).toBeLessThan(POOL_WAIT_MS);
    });
  });

  test("a Playwright whose protocol is not served is 428 with what is served and what to do", async () => {
    const org = await service.newOrg();
    await using session = await org.open();
    const headers = { "user-agent": "Playwright/1.10.0 (x64; debian 12) node/20.0" };
    const { status, type, text } = await upgrade(session.created.wsEndpoint, headers);
    expect([status, type]).toEqual([428, expect.stringMatching(/^text\/plain/)]);
    expect(text).toContain("1.10");
    expect(text).toContain("connectOverCDP");
    const other = await upgrade(session.created.cdpEndpoint, headers);
    expect(other.status).toBe(101);
    other.socket?.terminate();
  });

  test("a create that names such a version is the pool's 428, forwarded and labelled JSON", async () => {
    const org = await service.newOrg("free", { browsers: 1 });
    const answer = await org.post("/sessions", {}, { "x-svc-wire-version": "1.10" });
    expect(answer.status).toBe(428);
    expect(answer.headers.get("content-type")).toContain("application/json");
    const body: unknown = JSON.parse(answer.text);
    expect(body).toMatchObject({
      error: expect.stringContaining("1.10"),
      code: "WireVersionMismatch",
      supported: expect.arrayContaining([expect.stringMatching(/^1\.\d+$/)]),
    });
    // Its slot is free again, a moment after the answer.
    await using session = await vi.waitFor(() => org.open(), 30_000);
    expect((await session.read()).status).toBe("active");
  });
}
