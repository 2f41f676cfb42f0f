import { SessionCreated } from "@svc/contract/browser/session.ts";
import { describe, expect, test, vi } from "vitest";
import type { Service } from "../caller.ts";

const MINUTE_MS = 60_000;

/** Document 1: session create request and response, POST /sessions. */
export function sessionCreate(service: Service): void {
  describe("a create", () => {
    test("without a body is a fast session with its endpoints and the plan's lifetime", async () => {
      const org = await service.newOrg();
      const before = Date.now();
      await using session = await org.open();
      const { created, id } = session;
      const socketBase = service.base.origin.replace(/^http/, "ws");
      expect(created.wsEndpoint).toBe(`${socketBase}/ws/${encodeURIComponent(id)}`);
      expect(created.cdpEndpoint).toBe(`${socketBase}/cdp/${encodeURIComponent(id)}`);
      const lifetimeMinutes = (Date.parse(created.expiresAt) - before) / MINUTE_MS;
      expect(lifetimeMinutes).toBeGreaterThanOrEqual(59);
      expect(lifetimeMinutes).toBeLessThan(62);
      expect((await session.read()).kind).toBe("fast");
    });

    test("says nothing of what was not asked for", async () => {
      const org = await service.newOrg();
      await using session = await org.open({});
      for (const field of ["proxy", "storageStateUrl", "storageState", "allowedDomains", "captcha"])
        expect(session.created).not.toHaveProperty(field);
    });

    test.each([
      ["no JSON", "not json"],
      ["an array", "[true]"],
      ["a string", '"stealth"'],
      ["null", "null"],
      ["toggles that are not literally true", '{"stealth":"true","captcha":1,"recording":"yes"}'],
      ["fields of no meaning", '{"colour":"red","__proto__":{"stealth":true}}'],
      ["a proxy that is off", '{"proxy":"off"}'],
      ["nulls", '{"proxy":null,"allowedDomains":null,"profileId":null,"stealth":null}'],
      ["a profileId that is empty", '{"profileId":""}'],
      ["a profileId that is a number", '{"profileId":5}'],
      ["a profileId that is a list", '{"profileId":[]}'],
    ])("of %s is all defaults", async (_name, body) => {
      const org = await service.newOrg();
      await using session = org.opened(await org.post("/sessions", body));
      expect((await session.read()).kind).toBe("fast");
      expect(session.created).not.toHaveProperty("storageStateUrl");
    });

    test("lives as long as the org's plan says", async () => {
      const org = await service.newOrg("professional", { sessionMinutes: 7 });
      const before = Date.now();
      await using session = await org.open();
      const minutes = (Date.parse(session.created.expiresAt) - before) / MINUTE_MS;
      expect(Math.round(minutes)).toBe(7);
    });

    test.each([0, -500])("is never refused for a credit of %i cents", async (creditCents) => {
      const org = await service.newOrg("professional", {}, creditCents);
      await using session = await org.open();
      expect((await session.read()).status).toBe("active");
    });
  });

  concurrency(service);
}

/** Document 1: a create of a stealth browser. */
export function stealthCreate(service: Service): void {
  // Asked together: without a stealth pool each of them waits for the whole acquire timeout.
  const WISHES = {
    alone: {},
    captcha: { captcha: true },
    smart: { proxy: "smart" },
    country: { proxy: { country: "us", tier: "mobile", session: "a-1", sessionDuration: 30 } },
    domains: { allowedDomains: ["B.example.", "b.example", "bücher.example"] },
  };
  const WITHOUT_POOL = { code: "AcquireTimeout", retryable: true, hint: expect.any(String) };
  // With no exit and no solver: never an error, and the answer says so.
  const WITH_POOL = {
    alone: {},
    captcha: { captcha: { active: expect.any(Boolean) } },
    smart: {},
    country: {},
    domains: { allowedDomains: ["b.example", "xn--bcher-kva.example"] },
  };

  test("a stealth create is a stealth session, or 503 with a hint; it is never a fast one", async () => {
    const org = await service.newOrg("professional");
    const answers = await Promise.all(
      Object.entries(WISHES).map(async ([name, wish]) => {
        const answer = await org.post("/sessions", { stealth: true, ...wish });
        return [name, answer] as const;
      }),
    );
    for (const [name, answer] of answers) {
      // Pools that serve the kind need not confine sessions to domains: the list is never dropped, the create is refused.
      const isServed = service.hasStealth && !(name === "domains" && answer.status === 503);
      const status = isServed ? 201 : 503;
      const body = isServed ? WITH_POOL[name as keyof typeof WITH_POOL] : WITHOUT_POOL;
      expect([name, answer.status]).toEqual([name, status]);
      expect(answer.json).toMatchObject(body);
    }
    const made = answers.filter(([, answer]) => answer.status === 201);
    for (const [, answer] of made) {
      await using session = org.opened(answer);
      expect((await session.read()).kind).toBe("stealth");
    }
    // What failed is let go of behind the answer.
    await vi.waitFor(async () => {
      const list = await org.get("/sessions?status=active");
      expect(list.json).toEqual({ sessions: [] });
    }, 30_000);
  });
}

function concurrency(service: Service): void {
  describe("the concurrency limit", () => {
    test("of Free is 3: the rest is 429 with plan, cap, kind and the holders, and not retryable", async () => {
      const org = await service.newOrg("free");
      const answers = await Promise.all(Array.from({ length: 6 }, () => org.post("/sessions")));
      const made = answers.filter(({ status }) => status === 201);
      const refused = answers.filter(({ status }) => status === 429);
      expect([made.length, refused.length]).toEqual([3, 3]);
      const ids = made.map(({ json }) => SessionCreated.parse(json).sessionId);
      for (const { json } of refused) {
        const code = "ConcurrencyLimitExceeded";
        expect(json).toMatchObject({ code, plan: "free", cap: 3, kind: "browser" });
        expect(json).not.toHaveProperty("retryable", true);
        expect(json).toHaveProperty("holders", expect.arrayContaining(ids));
      }
      await Promise.all(made.map((answer) => org.opened(answer)[Symbol.asyncDispose]()));
    });

    test("counts a session until it is released, and not a moment longer", async () => {
      const org = await service.newOrg("free", { browsers: 1 });
      for (let n = 0; n < 3; n += 1) {
        await using session = await org.open();
        expect((await org.post("/sessions")).status).toBe(429);
        expect((await org.delete(session.path)).status).toBe(204);
      }
    });

    test("is each org's own", async () => {
      const [one, two] = await Promise.all([
        service.newOrg("free", { browsers: 1 }),
        service.newOrg("free", { browsers: 1 }),
      ]);
      await using first = await one.open();
      await using second = await two.open();
      expect(first.id).not.toBe(second.id);
    });
  });
}
