import { OPERATIONS } from "@svc/contract/operations/index.ts";
import { describe, expect, test } from "vitest";
import { everyRoute } from "../support/worker/every-route.ts";
import { call, newOrg } from "../support/worker/gateway.ts";

const BODIES: Record<string, unknown> = {
  setAllowedDomains: { domains: [] },
  renewLease: { idleSeconds: 5 },
  runAutologin: { site: "a.test" },
  execInSandbox: { cmd: "true" },
  revertSandbox: { snapshotId: "snap_1" },
};

describe.each(Object.entries(OPERATIONS))("%s", (name, op) => {
  everyRoute(op, BODIES[name]);
});

test("an unknown route is 401 without a key and 404 with one", async () => {
  const { key } = await newOrg();
  expect((await call("/nowhere")).status).toBe(401);
  const response = await call("/nowhere", { bearer: key });
  expect(response.status).toBe(404);
  expect(await response.json()).toMatchObject({ code: "NotFound" });
});

test("/healthz is 401 even with a valid key", async () => {
  const { key } = await newOrg();
  for (const init of [{}, { bearer: key }]) {
    const response = await call("/healthz", init);
    expect(response.status).toBe(401);
    expect(await response.text()).toBe('{"error":"Unauthorized"}');
  }
});

test("every answer carries a request id", async () => {
  const ids = await Promise.all(
    ["/health", "/nowhere", "/healthz"].map(async (path) =>
      (await call(path)).headers.get("x-request-id"),
    ),
  );
  expect(new Set(ids).size).toBe(3);
  for (const id of ids) expect(id).toMatch(/^[0-9a-f-]{36}$/);
});

test.each([
  ["/openapi.json", "application/json", '"openapi": "3.1.0"'],
  ["/llms.txt", "text/plain", "POST /sessions"],
  ["/llms-full.txt", "text/plain", "# Fork ten ways from one state"],
])("%s is served without a key", async (path, type, text) => {
  const response = await call(path);
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toContain(type);
  expect(await response.text()).toContain(text);
});
