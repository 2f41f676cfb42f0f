import { describe, expect, test } from "vitest";
import { call, json, newOrg } from "../support/worker/gateway.ts";

const HUGE = "x".repeat(9000);
const DEEP = '{"a":'.repeat(10_000) + "1" + "}".repeat(10_000);

const IDS = ["%00", "%ff", "%E0%A4%A", "%", "..%2f..", "a%20b", "%F0%9F%A6%84", "a.b.c", ".", HUGE];

describe.each([
  ["GET", "/sessions/:id", 404],
  ["DELETE", "/sessions/:id", 404],
  ["POST", "/sessions/:id/lease", 404],
  ["GET", "/sessions/:id/replay-url", 404],
  ["POST", "/sessions/:id/allowed-domains", 404],
  ["DELETE", "/profiles/:id", 404],
  ["POST", "/profiles/:id/save", 404],
])("%s %s", (method, path, status) => {
  test.each(IDS)("with an id of %o is 404", async (id) => {
    const { key } = await newOrg();
    const bodies: Record<string, object> = { "/profiles/:id/save": { storageState: {} } };
    const body = JSON.stringify(bodies[path] ?? { domains: [] });
    const init = method === "POST" ? { method, body } : { method };
    const response = await call(path.replace(":id", id), { ...init, bearer: key });
    expect(response.status).toBe(status);
  });
});

test.each(["%00", "%ff", "🦄", "-1", "1e999", "null", "' OR 1=1 --", HUGE])(
  "a list whose cursor, limit or status is %o is a list",
  async (value) => {
    const { key } = await newOrg();
    for (const name of ["cursor", "limit", "status"]) {
      const response = await call(`/sessions?${name}=${value}`, { bearer: key });
      expect([name, response.status]).toEqual([name, 200]);
      expect(await response.json()).toEqual({ sessions: [] });
    }
  },
);

describe("POST /profiles", () => {
  test.each(["🦄 \u202e", "a\u0000b", "\ud800", "' OR 1=1 --", "x".repeat(200)])(
    "takes a name of %j",
    async (name) => {
      const { key } = await newOrg();
      const response = await call("/profiles", { ...json({ name }), bearer: key });
      expect(response.status).toBe(201);
      const list = await call("/profiles", { bearer: key });
      expect(await list.json()).toHaveLength(1);
    },
  );

  test.each(["x".repeat(201), "\u00a0\u3000", ["a"], { toString: "a" }, true, 1e308])(
    "a name of %j is 400",
    async (name) => {
      const { key } = await newOrg();
      const response = await call("/profiles", { ...json({ name }), bearer: key });
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ field: "name" });
    },
  );

  test("a body of 16 KB of brackets is 400", async () => {
    const { key } = await newOrg();
    for (const body of ["[".repeat(10_000), `${"[".repeat(8000)}${"]".repeat(8000)}`]) {
      const response = await call("/profiles", { method: "POST", body, bearer: key });
      expect(response.status).toBe(400);
    }
  });
});

describe("POST /profiles/:id/save", async () => {
  const { key } = await newOrg();
  const made = await call("/profiles", { ...json({ name: "work" }), bearer: key });
  const { id } = await made.json<{ id: string }>();
  const save = (state: string) =>
    call(`/profiles/${id}/save`, {
      method: "POST",
      body: `{"storageState":${state}}`,
      bearer: key,
    });

  test.each([
    ["deep", DEEP],
    ["of odd keys", '{"__proto__":{"a":1},"":2,"constructor":3}'],
    ["of odd text", '{"a":"\\ud800\\u0000🦄"}'],
  ])("a state that is %s is stored", async (_name, state) => {
    expect((await save(state)).status).toBe(200);
  });

  test("a state of 100,000 levels is stored or refused, never a fault", async () => {
    const deepest = '{"a":'.repeat(100_000) + "1" + "}".repeat(100_000);
    expect([200, 400]).toContain((await save(deepest)).status);
  });
});
