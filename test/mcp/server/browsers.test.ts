// Browsers through the whole server: hosted and local, of several clients, on a real gateway with a real pool.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Svc } from "@svc/sdk/svc.ts";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { COUNTER, startSite } from "../../support/fakes/site.ts";
import { type McpClient, mcpClient, type ToolAnswer } from "../../support/mcp-client.ts";
import { PATIENT, type TestGateway, testGateway } from "../../support/process/gateway.ts";
import { builtServer, mcpStdio } from "../../support/process/mcp-stdio.ts";
import { missingBrowser } from "../../support/process/needs.ts";
import { PoolProcess } from "../../support/process/pool.ts";

describe.skipIf(await missingBrowser())("browsers", () => {
  let stateDir = "";
  let gateway: TestGateway;
  let pool: PoolProcess;
  let site: Awaited<ReturnType<typeof startSite>>;
  let key = "";
  let svc: Svc;
  let path = "";
  /** A page has asked for `/begun`. */
  let begun = (): void => {};

  beforeAll(async () => {
    path = await builtServer();
    stateDir = await mkdtemp(join(tmpdir(), "svc-mcp-state-"));
    gateway = await testGateway(PATIENT, { port: 0, stateDir });
    site = await startSite((asked) => {
      if (asked === "/begun") begun();
      return COUNTER;
    });
    pool = await PoolProcess.start(gateway, { SVC_EGRESS_ALLOW: site.address });
    key = await gateway.newKey();
    svc = new Svc({ apiKey: key, baseUrl: gateway.url.origin });
  });
  afterAll(async () => {
    await pool?.close();
    await gateway?.close();
    site?.close();
    for (const folder of [stateDir, path && dirname(path)])
      if (folder) await rm(folder, { recursive: true, force: true });
  });

  const hosted = (headers: Record<string, string> = {}, query = "", apiKey = key) =>
    mcpClient({ url: new URL(`/mcp${query}`, gateway.url), key: apiKey, headers });
  const local = (env: Record<string, string> = {}) =>
    mcpStdio({ path, env: { SVC_API_KEY: key, SVC_BASE_URL: gateway.url.origin, ...env } });

  /** All texts of an answer. */
  const saidBy = ({ content }: ToolAnswer): string =>
    content.map(({ text = "" }) => text).join("\n");

  /** A browser of a client, released when the test is over. */
  async function opened(client: McpClient, args: object = {}): Promise<string> {
    const { text, json } = await client.call("svc_browser_create", { mode: "fast", ...args });
    const { sessionId } = json;
    if (typeof sessionId !== "string") throw new Error(text);
    onTestFinished(() => svc.browsers.release(sessionId).catch(() => {}));
    return sessionId;
  }

  test("one that a client created is used through another server, and closed through a third", async () => {
    await using one = await mcpClient({ url: gateway.url, key, version: "v1" });
    const sessionId = await opened(one);
    await using two = await local();
    const { json } = await two.call("svc_browser_navigate", { sessionId, url: site.url });
    expect(json).toMatchObject({ title: "Counter", status: 200 });
    await two.call("svc_browser_click", { sessionId, selector: "#more" });
    await using three = await hosted();
    const read = await three.call("svc_browser_read_page", { sessionId });
    expect(saidBy(read)).toMatch(/Counter[^]*1/);
    expect((await three.call("svc_browser_close", { sessionId })).json).toEqual({ released: true });
    expect(await svc.browsers.get(sessionId)).toMatchObject({ status: "released" });
    const { text } = await one.call("svc_browser_read_page", { sessionId });
    expect(text).toMatch(/^NotRunning: /);
  });

  test("one is held by a lease of ten minutes, however often clients come and go", async () => {
    await using client = await hosted();
    const sessionId = await opened(client);
    const browser = await svc.browsers.connect(sessionId);
    expect(await browser.renewLease()).toMatchObject({ idleSeconds: 600 });
  });

  test("calls of two clients on one session follow each other", async () => {
    await using one = await hosted();
    await using two = await mcpClient({ url: gateway.url, key, version: "v1" });
    const sessionId = await opened(one);
    await one.call("svc_browser_navigate", { sessionId, url: site.url });
    // Were two under way at once, one would find the other's mark.
    const expression = `(async () => {
      const before = document.title;
      document.title = "busy";
      await new Promise((resolve) => setTimeout(resolve, 50));
      document.title = "free";
      return before;
    })()`;
    const calls = [one, two, one, two].map((client) =>
      client.call("svc_browser_evaluate", { sessionId, expression }),
    );
    const texts = (await Promise.all(calls)).map(saidBy);
    expect(texts.filter((text) => text.includes("busy"))).toEqual([]);
    expect(texts.filter((text) => text.includes("free"))).toHaveLength(3);
  });

  test("a local server that ends releases what it created, and nothing else", async () => {
    const client = await local();
    await using other = await hosted();
    const [own, foreign] = [await opened(client), await opened(other)];
    await client.call("svc_browser_navigate", { sessionId: foreign, url: site.url });
    await client.close();
    await expect
      .poll(() => svc.browsers.get(own))
      .toMatchObject({ status: "released", closeReason: "released" });
    expect(await svc.browsers.get(foreign)).toMatchObject({ status: "active" });
  });

  test("one that names no profile has the configured one: of the header, the query, the environment", async () => {
    const { id, name } = await svc.profiles.create(`mcp ${crypto.randomUUID()}`);
    const other = await svc.profiles.create(`other ${crypto.randomUUID()}`);
    const header = { "x-svc-default-profile": name };
    const cases: [Promise<McpClient>, object, object][] = [
      [
        hosted(header, `?defaultProfile=${other.id}`),
        {},
        { profileId: id, defaultOrigin: "header" },
      ],
      [hosted({}, `?defaultProfile=${id}`), {}, { profileId: id, defaultOrigin: "query" }],
      [local({ SVC_DEFAULT_PROFILE: name }), {}, { profileId: id, defaultOrigin: "env" }],
      [hosted(header), { profileId: other.id }, { profileId: other.id, profileSource: "explicit" }],
    ];
    for (const [connecting, args, expected] of cases) {
      await using client = await connecting;
      const { json, text } = await client.call("svc_browser_create", { mode: "fast", ...args });
      const profileSource = "default";
      expect({ ...json, text }).toMatchObject({ profileSource, ...expected });
      await client.call("svc_browser_close", { sessionId: json["sessionId"] });
    }
    await using lost = await hosted({ "x-svc-default-profile": "nobody's" });
    const { text } = await lost.call("svc_browser_create", { mode: "fast" });
    expect(text).toMatch(/^ProfileNotFound: .*"nobody's".*matches no saved profile/);
  });

  test("one more than the plan allows names those that are open", async () => {
    await using client = await hosted({}, "", await gateway.newKey("free", { browsers: 1 }));
    const { json } = await client.call("svc_browser_create", { mode: "fast" });
    const { text, error } = await client.call("svc_browser_create", { mode: "fast" });
    expect(text).toMatch(/^ConcurrencyLimitExceeded: .*free plan allows 1 browsers at once/);
    expect(text).toContain(String(json["sessionId"]));
    expect(error).toMatchObject({
      status: 429,
      plan: "free",
      cap: 1,
      holders: [json["sessionId"]],
    });
    await client.call("svc_browser_close", { sessionId: json["sessionId"] });
  });

  test("one outlives a gateway that restarts between two calls of a client", async () => {
    await using client = await hosted();
    const sessionId = await opened(client);
    await client.call("svc_browser_navigate", { sessionId, url: site.url });
    const port = Number(gateway.url.port);
    await gateway.close();
    gateway = await testGateway(PATIENT, { port, stateDir });
    // The pool says at its next heartbeat that the browser is there.
    await expect
      .poll(async () => (await client.call("svc_browser_read_page", { sessionId })).content, {
        timeout: 100_000,
      })
      .toContainEqual(expect.objectContaining({ text: expect.stringContaining("Counter") }));
  });

  const LEAVING = ["v2", "v1", "local"] as const;
  test.each(LEAVING)(
    "a client (%s) that goes away in a call leaves nobody waiting",
    async (how) => {
      await using next = await hosted();
      const sessionId = await opened(next);
      await next.call("svc_browser_navigate", { sessionId, url: site.url });
      const expression = 'fetch("/begun").then(() => new Promise(() => {}))';
      const isUnderWay = new Promise<void>((resolve) => (begun = resolve));
      const args = { sessionId, expression, timeoutSeconds: 120 };
      if (how === "local") {
        const client = await local();
        const ended = client.call("svc_browser_evaluate", args).catch(() => {});
        await isUnderWay;
        process.kill(client.pid, "SIGKILL");
        await ended;
      } else {
        const client = await mcpClient({ url: gateway.url, key, version: how });
        const ended = client.call("svc_browser_evaluate", args).catch(() => {});
        await isUnderWay;
        await client.close();
        await ended;
      }
      // Without an end of that call this one would wait for its two minutes, and give up after one.
      const sum = { sessionId, expression: "1 + 1" };
      expect(saidBy(await next.call("svc_browser_evaluate", sum))).toMatch(/\n2$/);
    },
  );
});
