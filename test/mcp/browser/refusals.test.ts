// How tools of browsers wait for the gateway and tell its refusals: no browser is needed to be refused.
import type { Browser } from "@svc/sdk/browsers.ts";
import type { WebSocketClass } from "@svc/sdk/context.ts";
import { Svc } from "@svc/sdk/svc.ts";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { withTabs } from "../../../mcp/page/connection.ts";
import type { ToolContext } from "../../../mcp/tool.ts";
import { browserReplayUrl } from "../../../mcp/tools/browser/replay-url.ts";
import { autologinSite } from "../../../mcp/tools/login/autologin-site.ts";
import { awaitLogin } from "../../../mcp/tools/login/await-login.ts";
import { FaultyServer } from "../../sdk/faulty-server.ts";

const KEY = `svc_live_${"a".repeat(12)}_${"b".repeat(40)}`;
const sessionId = "s1";
const { signal } = new AbortController();

let gateway: FaultyServer;
let svc: Svc;
beforeAll(async () => {
  gateway = await FaultyServer.start();
  svc = new Svc({ apiKey: KEY, baseUrl: gateway.url });
});
afterAll(() => gateway.close());
afterEach(() => void vi.useRealTimers());

test("the replay of an id that is nobody's says that calling again does not help", async () => {
  // As the gateway answers it: the text alone, without a code.
  gateway.script({ status: 404, body: { error: "There is no such replay." } });
  const asked = browserReplayUrl.run({ sessionId, waitSeconds: 0 }, { svc, signal } as ToolContext);
  await expect(asked).rejects.toMatchObject({
    code: "ReplayNotFound",
    message: expect.stringContaining("Calling again does not help"),
  });
});

test("what a person did in a browser without a profile is not saved, and told as done", async () => {
  const handoff = { id: "ho_1", kind: "login", status: "completed", finalUrl: "https://a.test/in" };
  const record = { id: sessionId, status: "active", handoff };
  const noProfile = { error: "profileId: …", code: "ValidationError", field: "profileId" };
  gateway.script(
    { status: 200, body: record },
    { status: 200, body: handoff },
    { status: 400, body: noProfile },
    { status: 200, body: record },
  );
  const context = { svc, signal, progress: () => {} } as unknown as ToolContext;
  const asked = awaitLogin.run({ sessionId, timeoutSeconds: 1, saveProfile: true }, context);
  expect(await asked).toEqual({ json: { status: "completed", url: handoff.finalUrl } });
});

test("a browser whose socket does not open is PoolUnreachable, not a page that does not answer", async () => {
  const get = async () => ({ status: "active", cdpEndpoint: "ws://svc.test/cdp/s1" });
  const opening = Promise.withResolvers<void>();
  class Silent extends EventTarget {
    constructor() {
      super();
      opening.resolve();
    }
    close(): void {}
  }
  const context = {
    svc: { browsers: { get } },
    signal,
    WebSocket: Silent as unknown as WebSocketClass,
  };
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const used = withTabs(context as unknown as ToolContext, sessionId, async () => {});
  used.catch(() => {});
  await opening.promise;
  await vi.runAllTimersAsync();
  await expect(used).rejects.toMatchObject({ code: "PoolUnreachable" });
});

test("a login of the service is waited for as long as it may last, which the sdk's own patience is not", async () => {
  const autologin = vi.fn<Browser["autologin"]>(async () => ({
    status: "logged_in",
    url: "",
    title: "",
  }));
  const context = { svc: { browsers: { connect: async () => ({ autologin }) } }, signal };
  const wanted = { site: "example.com", force: false, timeoutSeconds: 180 };
  await autologinSite.run({ sessionId, ...wanted }, context as unknown as ToolContext);
  expect(autologin).toHaveBeenCalledExactlyOnceWith(wanted, { signal, timeoutMs: Infinity });
});
