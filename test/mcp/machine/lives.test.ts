// Tools that make, find and end machines, over a real gateway with a fake host.
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { Svc } from "@svc/sdk/index.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PREVIEW_DOMAIN, VmGateway } from "../../support/process/vm-gateway.ts";
import { type Call, callerOf } from "./tool-calls.ts";

let it: VmGateway;
let svc: Svc;
let call: Call;
beforeAll(async () => {
  it = await VmGateway.start(undefined, ["snapshots", "desktop"]);
  svc = new Svc({ apiKey: it.key, baseUrl: it.gateway.url.origin });
  call = callerOf(svc);
});
afterAll(() => it?.close());

const make = async (more: object = {}): Promise<string> =>
  (await call("svc_sandbox_create", more)).json.sessionId;

describe("svc_sandbox_create", () => {
  test("makes what it is asked for, and tells what it got", async () => {
    const { json } = await call("svc_sandbox_create", { cpu: 1, memMb: 512, envs: { A: "1" } });
    expect(json).toEqual({
      sessionId: expect.any(String),
      kind: "sandbox",
      expiresAt: expect.stringMatching(/^\d{4}-/),
      cpu: 1,
      memMb: 512,
      diskGb: 4,
      isolation: "dedicated",
    });
    await call("svc_kill", { sessionId: json.sessionId });
  });

  test.each([
    [{ cpu: 9 }, /cpu/],
    [{ isolation: "none" }, /dedicated/],
    [{ unknown: 1 }, /unknown/i],
  ])("of %o is refused before anything is asked", async (given, words) => {
    await expect(call("svc_sandbox_create", given)).rejects.toThrow(words);
  });

  test("leaves no machine when its client cancels the call", async () => {
    const inState = async (state: "running" | "gone") =>
      (await svc.sandboxes.list({ state }).page()).items.map(({ sandboxId }) => sandboxId);
    const before = await inState("gone");
    const abort = new AbortController();
    const answer = call("svc_sandbox_create", {}, abort.signal);
    abort.abort(new Error("cancelled by the client"));
    await expect(answer).rejects.toThrow("cancelled by the client");
    expect(await inState("running")).toEqual([it.id]);
    expect(await inState("gone")).toHaveLength(before.length + 1);
  });

  test.each([
    [{ template: "nothing" }, 400, "ValidationError"],
    [{ template: "default" }, 400, "ValidationError"],
    [{ fromSnapshot: "snap_none" }, 404, "NotFound"],
  ])("of %o is the gateway's refusal: %i %s", async (given, status, code) => {
    await expect(call("svc_sandbox_create", given)).rejects.toMatchObject({ status, code });
  });
});

test("svc_desktop_create makes a desktop, and says where it is seen", async () => {
  const { json } = await call("svc_desktop_create", { resolution: "1024x768" });
  expect(json).toMatchObject({ kind: "desktop", expiresAt: expect.any(String) });
  expect(json.streamUrl).toMatch(/^ws:.*\/stream\//);
  expect(json).not.toHaveProperty("recordingUrl");
  expect((await svc.sandboxes.get(json.sessionId)).kind).toBe("desktop");
  const { json: connected } = await call("svc_connect", { sessionId: json.sessionId });
  expect(connected).toMatchObject({ kind: "desktop", resumed: false, streamUrl: json.streamUrl });
  await call("svc_kill", { sessionId: json.sessionId });
});

describe("svc_connect", () => {
  test("changes nothing of a machine that runs", async () => {
    const { json } = await call("svc_connect", { sessionId: it.id });
    expect(json).toMatchObject({
      sessionId: it.id,
      kind: "sandbox",
      state: "running",
      resumed: false,
    });
    expect(json).not.toHaveProperty("streamUrl");
  });

  test("resumes one that is paused, which other tools refuse with what to do", async () => {
    const sessionId = await make();
    await svc.sandboxes.at(sessionId).pause();
    for (const [name, given] of [
      ["svc_exec", { command: "true" }],
      ["svc_read_file", { path: "/a" }],
      ["svc_screenshot", {}],
    ] as const)
      await expect(call(name, { sessionId, ...given })).rejects.toMatchObject({
        code: "NotRunning",
        message: expect.stringContaining("svc_connect"),
      });
    const { json } = await call("svc_connect", { sessionId });
    expect(json).toMatchObject({ state: "running", resumed: true });
    await call("svc_kill", { sessionId });
  });

  test("of a machine that is gone says so", async () => {
    const sessionId = await make();
    expect((await call("svc_kill", { sessionId })).json).toEqual({ ok: true });
    await expect(call("svc_connect", { sessionId })).rejects.toMatchObject({ code: "Gone" });
    await expect(call("svc_exec", { sessionId, command: "true" })).rejects.toMatchObject({
      code: "NotRunning",
      message: expect.stringContaining("svc_sandbox_create"),
    });
    // Repeating it is fine.
    expect((await call("svc_kill", { sessionId })).json).toEqual({ ok: true });
  });
});

describe("a sessionId that is no machine's", () => {
  const given: Record<string, object> = {
    svc_exec: { command: "true" },
    svc_run_command_bg: { command: "true" },
    svc_run_code: { code: "1" },
    svc_read_file: { path: "/a" },
    svc_write_file: { path: "/a", content: "" },
    svc_list_files: { path: "/" },
    svc_get_preview_url: { port: 80 },
    svc_screenshot: {},
    svc_click: { x: 1, y: 1 },
    svc_type: { text: "a" },
    svc_key: { key: "a" },
    svc_open_app: { app: "terminal" },
    svc_mouse_move: { x: 1, y: 1 },
    svc_mouse_down: {},
    svc_mouse_up: {},
    svc_drag: { fromX: 1, fromY: 1, toX: 2, toY: 2 },
    svc_connect: {},
    svc_kill: {},
  };

  test.each(Object.entries(given))("%s says which tools it may belong to", async (name, more) => {
    const answer = call(name, { sessionId: "aWQ.bm8", ...more });
    await expect(answer).rejects.toMatchObject({
      code: "InvalidSessionId",
      message: expect.stringMatching(/svc_browser_.*svc_list/),
    });
  });
});

describe("svc_get_preview_url", () => {
  const opened = async (more: object = {}): Promise<number | undefined> => {
    const { json } = await call("svc_get_preview_url", { sessionId: it.id, port: 3000, ...more });
    const url = new URL(json.url);
    // An open port needs none.
    expect([json.token, null]).toContain(url.searchParams.get("svc_token"));
    expect(url.hostname).toMatch(new RegExp(`-3000\\.${PREVIEW_DOMAIN}$`));
    // Node itself finds no *.localhost.
    const { hostname, port } = it.gateway.url;
    const asked = request({ hostname, port, headers: { host: url.host } });
    asked.end();
    const [answer] = (await once(asked, "response")) as [IncomingMessage];
    answer.resume();
    return answer.statusCode;
  };

  test("opens a port to everyone, and closes it again", async () => {
    expect(await opened()).toBe(401);
    expect(await opened({ public: true })).not.toBe(401);
    expect(await opened()).not.toBe(401);
    expect(await opened({ public: false })).toBe(401);
  });

  test("takes ports alone", async () => {
    const answer = call("svc_get_preview_url", { sessionId: it.id, port: 70_000 });
    await expect(answer).rejects.toThrow(/65535/);
  });
});
