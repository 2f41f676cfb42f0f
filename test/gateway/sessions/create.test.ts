import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { SessionCreated } from "@svc/contract/browser/session.ts";
import { ErrorBody } from "@svc/contract/errors.ts";
import { beforeEach, describe, expect, test } from "vitest";
import {
  BASE,
  call,
  clearFleet,
  newOrg,
  newPool,
  type Pool,
  unhurried,
} from "../../support/worker/gateway.ts";

describe("a pool is registered", async () => {
  let pool: Pool;
  // Alone in the fleet, so that it is the one that is asked.
  beforeEach(async () => {
    await clearFleet();
    pool = await newPool();
  });
  const { key, orgId } = await newOrg("free", { browsers: 50 });

  test("a create without a body is a fast session with its endpoints and the plan's lifetime", async () => {
    const before = Date.now();
    const response = await call("/sessions", { method: "POST", bearer: key });
    expect(response.status).toBe(201);
    const body = SessionCreated.parse(await response.json());
    const name = encodeURIComponent(body.sessionId);
    expect(body.wsEndpoint).toBe(`ws://svc.test/ws/${name}`);
    expect(body.cdpEndpoint).toBe(`ws://svc.test/cdp/${name}`);
    const lifetime = Date.parse(body.expiresAt) - before;
    expect(lifetime).toBeGreaterThanOrEqual(3_600_000);
    expect(lifetime).toBeLessThan(3_660_000);
    const placed = (await pool.calls()).find(({ path }) => path.endsWith(`/slots/${name}`));
    expect(placed).toMatchObject({ method: "PUT", org: orgId, body: { kind: "fast" } });
  });

  test.each([
    ["text", "not json"],
    ["an array", "[true]"],
    ["a string", '"stealth"'],
    ["a stealth that is not literally true", '{"stealth":"true"}'],
    ["a recording that is not literally true", '{"recording":1}'],
    ["an empty profileId", '{"profileId":""}'],
    ["a proxy that is off", '{"proxy":"off"}'],
    ["an unknown field", '{"colour":"red"}'],
  ])("%s is all defaults", async (_name, body) => {
    const response = await call("/sessions", { method: "POST", body, bearer: key });
    expect(response.status).toBe(201);
  });
});

test("the base URL of the request is the base of the endpoints", async () => {
  await newPool();
  const { key } = await newOrg();
  const url = BASE.replace("http:", "https:");
  const response = await call(`${url}/sessions`, { method: "POST", bearer: key });
  const { wsEndpoint } = SessionCreated.parse(await response.json());
  expect(wsEndpoint).toMatch(/^wss:\/\/svc\.test\/ws\//);
});

test("of 50 concurrent creates at cap 3 exactly 3 pass, and the 429 names plan, cap and holders", async () => {
  unhurried();
  await newPool();
  const { key } = await newOrg();
  const responses = await Promise.all(
    Array.from({ length: 50 }, () => call("/sessions", { method: "POST", bearer: key })),
  );
  expect(responses.filter(({ status }) => status === 201)).toHaveLength(3);
  const refused = responses.filter(({ status }) => status === 429);
  expect(refused).toHaveLength(47);
  const body = ErrorBody.parse(await refused[0]?.json());
  expect(body).toMatchObject({
    code: "ConcurrencyLimitExceeded",
    plan: "free",
    cap: 3,
    kind: "browser",
  });
  expect(body).not.toHaveProperty("retryable");
  expect(body["holders"]).toHaveLength(3);
});

test("a released session makes room at once", async () => {
  await newPool();
  const { key } = await newOrg("free", { browsers: 1 });
  const first = await call("/sessions", { method: "POST", bearer: key });
  const { sessionId } = SessionCreated.parse(await first.json());
  expect((await call("/sessions", { method: "POST", bearer: key })).status).toBe(429);
  await call(`/sessions/${sessionId}`, { method: "DELETE", bearer: key });
  expect((await call("/sessions", { method: "POST", bearer: key })).status).toBe(201);
});

test("an org object that fails is 503 ConcurrencyCheckUnavailable, and nothing is placed", async () => {
  const pool = await newPool();
  const { key, orgId } = await newOrg();
  await runInDurableObject(env.ORGS.getByName(orgId), (_object, state) => {
    state.storage.sql.exec("DROP TABLE claims");
  });
  const response = await call("/sessions", { method: "POST", bearer: key });
  expect(response.status).toBe(503);
  expect(await response.json()).toMatchObject({
    code: "ConcurrencyCheckUnavailable",
    retryable: true,
  });
  expect((await pool.calls()).filter(({ org }) => org === orgId)).toEqual([]);
});

test("x-svc-wire-version is passed on as a minor; what is no version is 400 at the door", async () => {
  // Alone in the fleet, so that it is the one that is asked.
  await clearFleet();
  const pool = await newPool();
  const { key, orgId } = await newOrg("starter");
  const create = (version: string) =>
    call("/sessions", { method: "POST", bearer: key, headers: { "x-svc-wire-version": version } });
  expect((await create("1.65.1")).status).toBe(201);
  const asked = (await pool.calls()).find(({ org }) => org === orgId);
  expect(asked).toMatchObject({ method: "PUT", body: { wireVersion: "1.65" } });
  for (const bad of ["x".repeat(21), "latest", "1"]) {
    const response = await create(bad);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      code: "ValidationError",
      field: "x-svc-wire-version",
    });
  }
});
