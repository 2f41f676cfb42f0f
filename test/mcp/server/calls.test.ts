// How every tool is called, answered and refused, by tools of the test's own: real clients, the real server, no gateway.
import { ControlError, TimeoutError } from "@svc/sdk/errors.ts";
import { Svc } from "@svc/sdk/svc.ts";
import type { Home } from "@svc/mcp/home.ts";
import { serveHttp } from "@svc/mcp/http.ts";
import { LocalTurns } from "@svc/mcp/local-turns.ts";
import { defineTool, type Tool, ToolError } from "@svc/mcp/tool.ts";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import * as z from "zod";
import { MCP_VERSIONS, type McpVersion, mcpClient } from "../../support/mcp-client.ts";
import { FaultyServer } from "../../sdk/faulty-server.ts";

const KEY = `svc_live_${"a".repeat(12)}_${"b".repeat(40)}`;

/** The work of all tools in a test. */
let work: Tool["run"] = async () => ({ json: {} });
const common = {
  title: "Test",
  description: "Does what the test says.",
  hints: {},
  turn: "none",
  run: (args, context) => work(args, context),
} as const satisfies Partial<Tool>;
const empty = z.strictObject({});
const tools: readonly Tool[] = [
  defineTool({
    ...common,
    name: "svc_structured",
    input: empty,
    output: z.looseObject({ url: z.string() }),
  }),
  defineTool({
    ...common,
    name: "svc_blocks",
    input: z.strictObject({
      sessionId: z.string().optional(),
      count: z.int().min(1).max(3).default(2),
      kind: z.enum(["a", "b"]).optional(),
    }),
  }),
  defineTool({ ...common, name: "svc_short", input: empty, patienceMs: 50 }),
  defineTool({
    ...common,
    turn: "session",
    name: "svc_browser_use",
    input: z.strictObject({ sessionId: z.string() }),
  }),
];

let gateway: FaultyServer;
const logged = vi.fn<Home["log"]>();
beforeAll(async () => {
  gateway = await FaultyServer.start();
});
afterAll(() => gateway.close());
beforeEach(() => logged.mockClear());

/** A client of the server in this process. */
function connected(version: McpVersion) {
  const svc = new Svc({ apiKey: KEY, baseUrl: gateway.url });
  const home: Home = {
    svc,
    WebSocket: undefined,
    turns: new LocalTurns(svc),
    opened: () => {},
    requestId: () => "request-1",
    log: logged,
  };
  const send: typeof fetch = (input, init) => serveHttp(new Request(input, init), tools, home);
  return mcpClient({ url: "http://svc.test/mcp", key: KEY, version, fetch: send });
}

describe.each(MCP_VERSIONS)("a client %s", (version) => {
  test("gets the JSON as first block and as structured content of a tool with an output schema", async () => {
    await using client = await connected(version);
    work = async () => ({ json: { url: "http://a.test/", more: 1 } });
    const { content, structured } = await client.call("svc_structured");
    expect(structured).toEqual({ url: "http://a.test/", more: 1 });
    expect(content).toEqual([{ type: "text", text: '{"url":"http://a.test/","more":1}' }]);
  });

  test("gets content alone of any other tool: a line of JSON, then its blocks", async () => {
    await using client = await connected(version);
    const image = { type: "image", data: "AAAA", mimeType: "image/jpeg" } as const;
    work = async () => ({ json: { ok: true }, blocks: [image, { type: "text", text: "page" }] });
    const { content, structured } = await client.call("svc_blocks");
    expect(structured).toBeUndefined();
    expect(content[0]).toEqual({ type: "text", text: '{"ok":true}' });
    expect(content.slice(1)).toEqual([image, { type: "text", text: "page" }]);
  });

  test.each([
    [{ count: 4 }, /^ValidationError: count: .*<=3/],
    [{ count: "2" }, /^ValidationError: count: expected number, received string\.$/],
    [{ kind: "c" }, /^ValidationError: kind: expected one of "a"\|"b"\.$/],
    [
      { cuont: 1 },
      /^ValidationError: cuont: is no argument of svc_blocks, which takes sessionId, count, kind\.$/,
    ],
    [{ count: 9, x: 1, y: 2 }, /count: .*; x: .*; y: /],
  ])("is told what is wrong with %j", async (args, text) => {
    await using client = await connected(version);
    const answer = await client.call("svc_blocks", args);
    expect(answer.isError).toBe(true);
    expect(answer.text).toMatch(text);
    expect(answer.error).toMatchObject({ code: "ValidationError", status: 400 });
  });

  test("is told of an argument that is missing", async () => {
    await using client = await connected(version);
    const { text } = await client.call("svc_browser_use");
    expect(text).toBe("ValidationError: sessionId: is missing, expected string.");
  });

  test("gets the defaults of arguments that it leaves out", async () => {
    await using client = await connected(version);
    work = async (args) => ({ json: args });
    expect((await client.call("svc_blocks")).json).toEqual({ count: 2 });
  });

  const ERRORS: [string, unknown, RegExp, object][] = [
    [
      "a tool's own",
      new ToolError("ElementNotFound", "No element matches #a. Read the page again."),
      /^ElementNotFound: No element matches #a\. Read the page again\.$/,
      { code: "ElementNotFound", status: 400 },
    ],
    [
      "a machine's",
      new ControlError("NotFound", "no such file", { field: "path" }),
      /^NotFound: no such file\./,
      { code: "NotFound", status: 404, field: "path" },
    ],
    [
      "a deadline's",
      new TimeoutError("The call took longer than 5 ms."),
      /^Timeout: The call took longer than 5 ms\. What was asked for may still happen/,
      { code: "Timeout", status: 504 },
    ],
    [
      "a bug's",
      new Error("secret detail"),
      /^InternalError: Something went wrong \(request-1\)\. If it happens again, report that id\.$/,
      { code: "InternalError", status: 500 },
    ],
  ];
  test.each(ERRORS)("is told %s error", async (_whose, error, text, body) => {
    await using client = await connected(version);
    work = () => Promise.reject(error);
    const answer = await client.call("svc_structured");
    expect(answer).toMatchObject({ isError: true, structured: undefined });
    expect(answer.text).toMatch(text);
    expect(answer.error).toMatchObject(body);
  });

  test("is told a gateway's error with its body and its status", async () => {
    await using client = await connected(version);
    work = async (_args, { svc }) => ({ json: await svc.browsers.get("x") });
    const body = { error: "There is no such session.", code: "InvalidSessionId", extra: 1 };
    gateway.script({ status: 404, body });
    const { text, error } = await client.call("svc_structured");
    expect(text).toMatch(/^InvalidSessionId: There is no such session\. Use a sessionId /);
    expect(error).toEqual({ ...body, status: 404 });
  });

  test.each([
    ["browser", "browsers", "svc_browser_close"],
    ["vm", "sandboxes and desktops", "svc_kill"],
  ])("is told of a plan full of kind %s what holds it, after one request alone", async (...row) => {
    const [kind, things, tool] = row;
    await using client = await connected(version);
    work = async (_args, { svc }) => ({ json: { id: (await svc.browsers.create()).id } });
    const facts = { plan: "free", cap: 3, kind, holders: ["s1", "s2", "s3"] };
    const body = { error: "Too many.", code: "ConcurrencyLimitExceeded", ...facts };
    gateway.script({ status: 429, body });
    const { text, error } = await client.call("svc_structured");
    expect(text).toBe(
      `ConcurrencyLimitExceeded: Too many. The free plan allows 3 ${things} at once. Trying again does not help: close one with ${tool} (open: s1, s2, s3).`,
    );
    expect(error).toMatchObject({ ...facts, status: 429 });
    expect(gateway.got).toHaveLength(1);
  });

  test("is told of a gateway that does not answer that the call may have happened", async () => {
    await using client = await connected(version);
    work = async (_args, { svc }) => {
      const name = "x";
      return { json: { ...(await svc.profiles.create(name)) } };
    };
    gateway.script("reset");
    const { text, error } = await client.call("svc_structured");
    expect(text).toMatch(/^ConnectionFailed: POST \/profiles failed: .* may have happened/);
    expect(error).toMatchObject({ status: 502, retryable: true });
  });

  test("gets an error of no more than 4,000 characters", async () => {
    await using client = await connected(version);
    work = () => Promise.reject(new ToolError("EvaluationFailed", "x".repeat(10_000)));
    expect((await client.call("svc_structured")).text).toHaveLength(4_000);
  });

  test("hears every five seconds that a call goes on, and what it does", async () => {
    await using client = await connected(version);
    const heard = Promise.withResolvers<object>();
    work = async (_args, { progress }) => {
      progress("waiting for the test");
      await heard.promise;
      return { json: { url: "" } };
    };
    await client.call("svc_structured", {}, { onprogress: heard.resolve });
    expect(await heard.promise).toMatchObject({ progress: 5, message: "waiting for the test" });
  });

  test("that cancels a call has it aborted", async () => {
    await using client = await connected(version);
    const aborted = Promise.withResolvers<unknown>();
    const abort = new AbortController();
    work = (_args, { signal }) => {
      signal.addEventListener("abort", () => aborted.resolve(signal.reason));
      abort.abort();
      return new Promise(() => {});
    };
    const call = client.call("svc_structured", {}, { signal: abort.signal });
    await expect(call).rejects.toThrow(/abort/i);
    // The revision before has no way to tell a server that keeps nothing: there the connection's end does.
    if (version === "v2") await aborted.promise;
  });
});

test("a bug's reason stands in the log, under the id that the client was told", async () => {
  await using client = await connected("v2");
  work = () => Promise.reject(new Error("secret detail"));
  expect((await client.call("svc_structured")).text).not.toContain("secret detail");
  expect(logged).toHaveBeenCalledExactlyOnceWith("tool_failed", {
    requestId: "request-1",
    tool: "svc_structured",
    reason: expect.stringContaining("secret detail"),
  });
});

test("a call ends at its deadline whatever its tool does, and its signal is aborted", async () => {
  await using client = await connected("v2");
  const seen = Promise.withResolvers<unknown>();
  work = (_args, { signal }) => {
    signal.addEventListener("abort", () => seen.resolve(signal.reason));
    return new Promise(() => {});
  };
  expect((await client.call("svc_short")).text).toMatch(
    /^Timeout: The call took longer than 50 ms/,
  );
  expect(await seen.promise).toBeInstanceOf(TimeoutError);
});

describe("calls on one session, where their server keeps the order itself", () => {
  const record = { id: "s1", status: "active", expiresAt: null };
  const lease = { idleSeconds: 600, leaseExpiresAt: "2026-11-30T00:00:00Z" };

  test("follow each other, and renew its lease", async () => {
    await using client = await connected("v2");
    gateway.script(
      { status: 200, body: record },
      { status: 200, body: lease },
      { status: 200, body: record },
      { status: 200, body: lease },
    );
    const begun = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    let running = 0;
    const most: number[] = [];
    work = async () => {
      most.push((running += 1));
      begun.resolve();
      await release.promise;
      running -= 1;
      return { json: {} };
    };
    const both = [1, 2].map(() => client.call("svc_browser_use", { sessionId: "s1" }));
    await begun.promise;
    release.resolve();
    await Promise.all(both);
    expect(most).toEqual([1, 1]);
    expect(gateway.got.map(({ method, path }) => `${method} ${path}`)).toEqual([
      "GET /sessions/s1",
      "POST /sessions/s1/lease",
      "GET /sessions/s1",
      "POST /sessions/s1/lease",
    ]);
  });

  test("are refused while a person has it", async () => {
    await using client = await connected("v2");
    const handoff = { id: "ho_1", status: "pending", createdAt: "", expiresAt: "" };
    gateway.script({ status: 200, body: { ...record, handoff } });
    const { text, error } = await client.call("svc_browser_use", { sessionId: "s1" });
    expect(text).toMatch(/^HandoffActive: .* Wait with svc_browser_await_login/);
    expect(error).toMatchObject({ code: "HandoffActive", status: 409 });
  });
});
