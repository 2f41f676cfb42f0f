import { PROXY_COUNTRIES } from "@svc/contract/browser/proxy.ts";
import type { Feature, PlanName } from "@svc/contract/plans.ts";
import { describe, expect, test } from "vitest";
import type { Service } from "../caller.ts";

const stealth = true;
const captcha = true;
const proxy = "us";
const allowedDomains = ["a.example"];
const profileId = "prof_nothing";

/** Document 1: the rules of POST /sessions and their order. */
export function createRules(service: Service): void {
  order(service);
  proxyShapes(service);
  domainShapes(service);
}

type Case = [
  rule: string,
  body: object,
  plan: PlanName,
  without: Feature[],
  status: number,
  answer: object,
];

const invalid = (field: string) => ({ code: "ValidationError", field });
const needs = (feature: Feature, plan: PlanName) => ({
  code: "FeatureRequiresPlan",
  feature,
  plan,
});

const CASES: Case[] = [
  ["a field of wrong shape before every rule", { proxy: "zz" }, "free", [], 400, invalid("proxy")],
  ["(1) a proxy needs stealth", { proxy }, "free", [], 400, invalid("proxy")],
  ["(1) before (2)", { proxy, captcha, profileId }, "free", ["captcha"], 400, invalid("proxy")],
  ["(1) also for an empty object", { proxy: {} }, "professional", [], 400, invalid("proxy")],
  [
    "(1) also for an object of dropped fields",
    { proxy: { state: 5, colour: "red" } },
    "professional",
    [],
    400,
    invalid("proxy"),
  ],
  ["(2) stealth", { stealth }, "free", ["stealth"], 402, needs("stealth", "free")],
  ["(2) proxy", { stealth, proxy }, "free", [], 402, needs("proxy", "starter")],
  ["(2) captcha", { stealth, captcha }, "free", ["captcha"], 402, needs("captcha", "free")],
  ["(2) before (3)", { captcha }, "free", ["captcha"], 402, needs("captcha", "free")],
  ["(3) captcha needs stealth", { captcha }, "free", [], 400, invalid("captcha")],
  ["(3) before allowedDomains", { captcha, allowedDomains }, "free", [], 400, invalid("captcha")],
  [
    "allowedDomains needs stealth",
    { allowedDomains },
    "professional",
    [],
    400,
    invalid("allowedDomains"),
  ],
  [
    "allowedDomains needs the top plan",
    { stealth, allowedDomains },
    "starter",
    [],
    402,
    needs("allowedDomains", "professional"),
  ],
  [
    "a feature before the profile",
    { stealth, proxy, profileId },
    "free",
    [],
    402,
    needs("proxy", "starter"),
  ],
  ["an unknown profile", { profileId }, "free", [], 404, { code: "ProfileNotFound" }],
];

function order(service: Service): void {
  describe("the first broken rule of a create answers", () => {
    test.each(CASES)("%s: %j on %s without %j is %i", async (...given) => {
      const [_rule, body, plan, without, status, wanted] = given;
      const features = Object.fromEntries(without.map((feature) => [feature, false]));
      const org = await service.newOrg(plan, { features });
      const answer = await org.post("/sessions", body);
      expect(answer.status).toBe(status);
      expect(answer.json).toMatchObject(wanted);
    });

    test("an unknown profile before the concurrency limit, and that before a pool is waited for", async () => {
      const org = await service.newOrg("professional", { browsers: 0 });
      expect((await org.post("/sessions", { profileId })).status).toBe(404);
      expect((await org.post("/sessions", { stealth })).status).toBe(429);
    });
  });
}

const GOOD_PROXIES: unknown[] = [
  "smart",
  ...PROXY_COUNTRIES,
  {},
  { country: "jp" },
  { tier: "residential" },
  { tier: "static" },
  { tier: "mobile" },
  { tier: "isp" },
  { static: true },
  { static: "yes", session: 5, state: [], city: {}, asn: 7, colour: "red" },
  { session: "a-1", sessionDuration: 1 },
  { session: "x".repeat(32), sessionDuration: 30 },
  { country: "us", state: "ny", city: "nyc", asn: "AS1" },
];

const BAD_PROXIES: [unknown, string][] = [
  ["zz", "proxy"],
  ["US", "proxy"],
  ["", "proxy"],
  [5, "proxy"],
  [true, "proxy"],
  [["us"], "proxy"],
  [{ country: "zz" }, "proxy.country"],
  [{ country: "US" }, "proxy.country"],
  [{ tier: "gold" }, "proxy.tier"],
  [{ session: "a_b" }, "proxy.session"],
  [{ session: "" }, "proxy.session"],
  [{ session: "x".repeat(33) }, "proxy.session"],
  [{ sessionDuration: 0 }, "proxy.sessionDuration"],
  [{ session: "a", sessionDuration: 31 }, "proxy.sessionDuration"],
  [{ sessionDuration: "5" }, "proxy.sessionDuration"],
  [{ country: "de", state: "by" }, "proxy.state"],
  [{ country: "gb", city: "london" }, "proxy.city"],
];

function proxyShapes(service: Service): void {
  describe("the proxy of a create", async () => {
    // Free has no proxy: what passes as a proxy is 402 there, whatever pools there are.
    const org = await service.newOrg("free");

    test.each(GOOD_PROXIES.map((wish) => [wish]))("may be %j", async (wish) => {
      const answer = await org.post("/sessions", { stealth, proxy: wish });
      expect(answer.json).toMatchObject(needs("proxy", "starter"));
    });

    test.each(BAD_PROXIES)("may not be %j: 400 at %s", async (wish, field) => {
      const answer = await org.post("/sessions", { stealth, proxy: wish });
      expect(answer.status).toBe(400);
      expect(answer.json).toMatchObject(invalid(field));
    });
  });
}

const MANY = Array.from({ length: 1000 }, (_, n) => `${n}.a`);
const GOOD_DOMAINS = [["a.example"], ["A.Example."], ["bücher.example"], ["localhost"], MANY];
const BAD_DOMAINS: [unknown, string][] = [
  [[], "allowedDomains"],
  ["a.example", "allowedDomains"],
  [{ 0: "a.example" }, "allowedDomains"],
  [["https://a.example"], "allowedDomains.0"],
  [["a.example:443"], "allowedDomains.0"],
  [["a.example/path"], "allowedDomains.0"],
  [["a.example", "*.b.example"], "allowedDomains.1"],
  [[""], "allowedDomains.0"],
  [[5], "allowedDomains.0"],
  [[null], "allowedDomains.0"],
  [["a b"], "allowedDomains.0"],
];

function domainShapes(service: Service): void {
  describe("allowedDomains of a create", async () => {
    // Starter has no allowedDomains: a good list is 402 there.
    const org = await service.newOrg("starter");

    test.each(GOOD_DOMAINS.map((domains) => [domains.length, domains[0], domains] as const))(
      "may have %i entries such as %j",
      async (_length, _first, domains) => {
        const answer = await org.post("/sessions", { stealth, allowedDomains: domains });
        expect(answer.json).toMatchObject(needs("allowedDomains", "professional"));
      },
    );

    test.each(BAD_DOMAINS)("may not be %j: 400 at %s", async (domains, field) => {
      const answer = await org.post("/sessions", { stealth, allowedDomains: domains });
      expect(answer.status).toBe(400);
      expect(answer.json).toMatchObject(invalid(field));
    });
  });
}
