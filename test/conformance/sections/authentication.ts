import { describe, expect, test, vi } from "vitest";
import { Caller, type Service } from "../caller.ts";

const ROUTES = [
  ["POST", "/sessions"],
  ["GET", "/sessions"],
  ["GET", "/sessions/x"],
  ["DELETE", "/sessions/x"],
  ["POST", "/sessions/x/lease"],
  ["GET", "/sessions/x/replay-url"],
  ["POST", "/sessions/x/allowed-domains"],
  ["GET", "/profiles"],
  ["POST", "/profiles"],
  ["DELETE", "/profiles/x"],
  ["POST", "/profiles/x/save"],
  ["GET", "/proxy/countries"],
  ["GET", "/nowhere"],
] as const;

const unknown = `svc_live_${"a".repeat(12)}_${"b".repeat(40)}`;

/** Document 1: authentication. */
export function authentication(service: Service): void {
  describe.each(ROUTES)("%s %s is 401 with the minimal body", (method, path) => {
    const expectRefused = async (headers: Record<string, string>, where = path as string) => {
      const answer = await service.stranger.send(method, where, undefined, headers);
      expect([answer.status, answer.json]).toEqual([401, { error: "Unauthorized" }]);
    };
    const wrong = service.key.slice(0, -1) + (service.key.endsWith("0") ? "1" : "0");

    test.each([
      ["no Authorization", {}],
      ["another scheme", { authorization: `Basic ${btoa(`${service.key}:`)}` }],
      ["a key without a scheme", { authorization: service.key }],
      ["an empty bearer", { authorization: "Bearer " }],
      ["a bearer that is no key", { authorization: "Bearer nonsense" }],
      ["an unknown key", { authorization: `Bearer ${unknown}` }],
      ["a good key with another secret", { authorization: `Bearer ${wrong}` }],
      ["the operator's token", { authorization: `Bearer ${service.adminToken}` }],
    ])("for %s", async (_name, headers) => {
      await expectRefused(headers);
    });

    test("for a key in the URL", async () => {
      await expectRefused({}, `${path}?token=${service.key}&key=${service.key}`);
    });
  });

  test("a key has the shape svc_live_<id>_<secret>, works at once, and on every route of its org", async () => {
    const org = await service.newOrg();
    expect(org.key).toMatch(/^svc_live_[0-9A-Za-z]+_[0-9A-Za-z]+$/);
    for (const path of ["/sessions", "/profiles", "/proxy/countries"])
      expect((await org.get(path)).status).toBe(200);
  });

  test(
    "a revoked key is 401 within 60 s, and other keys of the org go on",
    { timeout: 180_000 },
    async () => {
      const org = await service.newOrg();
      expect((await org.get("/sessions")).status).toBe(200);
      const made = await service.admin.post(`/admin/orgs/${org.orgId}/keys`, {});
      await service.admin.delete(`/admin/keys/${org.keyId}`);
      const patience = { timeout: 70_000, interval: 1000 };
      await vi.waitFor(async () => expect((await org.get("/sessions")).status).toBe(401), patience);
      const { key } = made.json as { key: string };
      expect((await new Caller(service.base, key).get("/sessions")).status).toBe(200);
    },
  );
}
