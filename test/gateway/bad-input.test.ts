import { describe, expect, test } from "vitest";
import { call, newOrg } from "../support/worker/gateway.ts";

const HUGE = "x".repeat(9000);

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
