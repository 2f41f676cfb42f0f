// The door of the agent tool server: who may call it, and what no client must be told.
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { LIMITS } from "@svc/contract/limits.ts";
import { describe, expect, test } from "vitest";
import { app } from "../../../src/app.ts";
import { call, json, newOrg } from "../../support/worker/gateway.ts";

const { key } = await newOrg();
const HEADERS = {
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
};
const message = { jsonrpc: "2.0", id: 1, method: "tools/list" };
const ask = (path = "/mcp", bearer: string | undefined = key, body: object = message) =>
  call(path, { ...json(body), headers: HEADERS, ...(bearer && { bearer }) });

describe("POST /mcp", () => {
  test.each(["", `svc_live_${"a".repeat(12)}_${"b".repeat(40)}`, "nothing"])(
    "with the key %j is a plain 401, which speaks of no OAuth",
    async (bearer) => {
      const response = await ask("/mcp", bearer);
      expect(response.status).toBe(401);
      expect(await response.text()).toBe('{"error":"Unauthorized"}');
      expect(response.headers.get("www-authenticate")).toBeNull();
    },
  );

  test("takes no key in the query, alone or beside a good one", async () => {
    expect((await ask(`/mcp?key=${key}`, "")).status).toBe(401);
    const response = await ask(`/mcp?apiKey=${key}`);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: expect.stringContaining("revoke that key"),
    });
  });

  test("answers a client that says nothing but what it wants", async () => {
    const response = await ask();
    expect(response.status).toBe(200);
    expect(await response.text()).toContain("svc_list");
  });

  test("lists the part of the tools that is asked for", async () => {
    const text = await (await ask("/mcp?toolsets=browser")).text();
    expect(text).toContain("svc_browser_profiles");
    expect(text).not.toContain("svc_list");
    const unknown = await ask("/mcp?toolsets=fridge");
    expect(unknown.status).toBe(400);
    expect(await unknown.json()).toMatchObject({ code: "ValidationError", field: "toolsets" });
  });

  test("above its cap is 413", async () => {
    const headers = { ...HEADERS, "content-length": String(LIMITS.toolCallBytes + 1) };
    const response = await call("/mcp", { ...json(message), headers, bearer: key });
    expect(response.status).toBe(413);
    const body = " ".repeat(LIMITS.toolCallBytes) + JSON.stringify(message);
    const whole = await call("/mcp", { method: "POST", body, headers: HEADERS, bearer: key });
    expect(whole.status).toBe(413);
  });

  test("by another method is 405", async () => {
    expect((await call("/mcp", { bearer: key, headers: HEADERS })).status).toBe(405);
    expect((await call("/mcp", { method: "DELETE", bearer: key })).status).toBe(405);
  });

  test("on one machine is refused under a stranger's name, and from a stranger's page", async () => {
    const local = { ...env, SVC_ALLOWED_HOSTS: "" };
    const from = (headers: object) =>
      app.request(
        "http://localhost/mcp",
        { ...json(message), headers: { ...HEADERS, authorization: `Bearer ${key}`, ...headers } },
        local,
        createExecutionContext(),
      );
    expect((await from({ host: "evil.test" })).status).toBe(403);
    expect((await from({ host: "localhost", origin: "http://evil.test" })).status).toBe(403);
    expect((await from({ host: "localhost", origin: "http://localhost:3000" })).status).toBe(200);
  });
});

test.each([
  "/.well-known/oauth-protected-resource",
  "/.well-known/oauth-protected-resource/mcp",
  "/.well-known/oauth-authorization-server",
  "/.well-known/openid-configuration",
])("%s is 404 without a key", async (path) => {
  const response = await call(path);
  expect(response.status).toBe(404);
  expect(await response.json()).toMatchObject({ code: "NotFound" });
});
