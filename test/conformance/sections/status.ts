import { Health } from "@svc/contract/browser/health.ts";
import { PROXY_COUNTRIES, ProxyCountries } from "@svc/contract/browser/proxy.ts";
import { describe, expect, test, vi } from "vitest";
import { Caller, type Service } from "../caller.ts";

const COUNTS = ["idle", "busy", "recycling"] as const;

/** Document 1: GET /proxy/countries. */
export function proxyCountries(service: Service): void {
  test("GET /proxy/countries lists supported countries, sorted, the union of its tiers", async () => {
    const answer = await service.owner.get("/proxy/countries");
    expect(answer.status).toBe(200);
    const { enabled, countries, tiers } = ProxyCountries.parse(answer.json);
    expect(countries).toEqual(countries.toSorted());
    const union = new Set([...tiers.residential, ...tiers.mobile, ...tiers.static]);
    expect(new Set(countries)).toEqual(union);
    expect(PROXY_COUNTRIES).toEqual(expect.arrayContaining(countries));
    expect(enabled).toBe(countries.length > 0);
  });
}

/** Document 1: GET /health. */
export function health(service: Service): void {
  const read = async () => Health.parse((await service.stranger.get("/health")).json);

  describe("GET /health", () => {
    test("needs no key and minds no wrong one", async () => {
      const wrong = new Caller(service.base, "nonsense");
      for (const caller of [service.stranger, wrong, service.owner]) {
        const answer = await caller.get("/health");
        expect([answer.status, answer.json]).toEqual([200, expect.objectContaining({ ok: true })]);
      }
    });

    test("counts both kinds apart and together; saturated is exactly that nothing is idle", async () => {
      const counts = await read();
      for (const field of COUNTS)
        expect(counts[field]).toBe(counts.fast[field] + counts.stealth[field]);
      expect(counts.saturated).toBe(counts.idle === 0);
      expect(counts.pools).toBeGreaterThan(0);
    });

    test("sees a session come", async () => {
      const org = await service.newOrg();
      await using session = await org.open();
      const patience = { timeout: 60_000, interval: 250 };
      await vi.waitFor(async () => expect((await read()).fast.busy).toBeGreaterThan(0), patience);
      expect((await session.read()).status).toBe("active");
    });
  });

  test("GET /healthz is 401, with a key as without", async () => {
    for (const caller of [service.stranger, service.owner, service.admin]) {
      const answer = await caller.get("/healthz");
      expect([answer.status, answer.json]).toEqual([401, { error: "Unauthorized" }]);
    }
  });
}
