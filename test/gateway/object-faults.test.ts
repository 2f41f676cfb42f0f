import { env } from "cloudflare:workers";
import { ERRORS } from "@svc/contract/errors.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { fleet } from "../../durable-objects/fleet/registry.ts";
import { app } from "../../src/app.ts";
import { call, clearFleet, HASTE_MS, hastily, newOrg } from "../support/worker/gateway.ts";
import { hang } from "../support/worker/hanging.ts";

/** A binding whose objects all fail, whatever they are asked. */
const broken = {
  getByName: () =>
    new Proxy({}, { get: () => () => Promise.reject(new Error("the object is broken")) }),
} as unknown;

/** What a caller gets while one binding is broken. */
async function ask(bindings: object, path: string, init: RequestInit = {}) {
  const { key } = await newOrg("professional");
  await call("/sessions", { bearer: key });
  const headers = new Headers(init.headers);
  headers.set("authorization", `Bearer ${key}`);
  return app.request(path, { ...init, headers }, { ...env, ...bindings });
}

test("BrowserUnhealthy is no code of the catalogue", () => {
  expect(Object.keys(ERRORS)).not.toContain("BrowserUnhealthy");
});

test.each([
  ["a create whose session object fails", "POST", { SESSIONS: broken }],
  ["a list whose org object fails", "GET", { ORGS: broken }],
])("%s is 503 ObjectUnavailable and retryable", async (_name, method, bindings) => {
  const response = await ask(bindings, "/sessions", { method });
  expect(response.status).toBe(503);
  expect(await response.json()).toMatchObject({ code: "ObjectUnavailable", retryable: true });
});

test("a create whose Idempotency-Key object fails is 503 and retryable", async () => {
  const headers = { "idempotency-key": "k" };
  const response = await ask({ IDEMPOTENCY: broken }, "/sessions", { method: "POST", headers });
  expect(response.status).toBe(503);
  expect(await response.json()).toMatchObject({ code: "ObjectUnavailable", retryable: true });
});

describe("while the registry of hosts fails", () => {
  // What was read of it a moment ago is held for so long.
  beforeEach(
    () => void vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + LIMITS.fleetHeldMs }),
  );
  afterEach(() => void vi.useRealTimers());
  test("GET /health is alive, with no counts, while the registry of hosts fails", async () => {
    const response = await ask({ FLEET: broken }, "/health");
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ ok: true, pools: 0, saturated: true });
  });

  test("GET /proxy/countries is 503 and retryable while the registry of hosts fails", async () => {
    const response = await ask({ FLEET: broken }, "/proxy/countries");
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ retryable: true });
  });
});

test("GET /health and a create are answered in time while the registry hangs", async () => {
  // So that no list is held.
  await clearFleet();
  await fleet(env).remove("nobody");
  const { key } = await newOrg();
  await hang(env.FLEET.getByName("fleet"));
  const begun = performance.now();
  const response = await call("/health");
  expect(response.status).toBe(200);
  expect(await response.json()).toMatchObject({ ok: true, pools: 0 });
  const create = await hastily("/sessions", { method: "POST", bearer: key });
  expect(await create.json()).toMatchObject({ code: "AcquireTimeout", retryable: true });
  expect(performance.now() - begun).toBeLessThan(3 * LIMITS.fleetAnswerMs + HASTE_MS);
});
