import { CreateSession } from "@svc/contract/browser/session.ts";
import { isApiError } from "@svc/contract/errors.ts";
import { effectivePlan, type PlanName } from "@svc/contract/plans.ts";
import { describe, expect, test } from "vitest";
import { checkCreate } from "../../../src/routes/sessions/rules.ts";
import { call, json, newOrg } from "../../support/worker/gateway.ts";

/** The first refusal of a create, as `code field-or-feature plan`. */
function refusalOf(body: object, plan: PlanName, without: string[] = []): string {
  const features = Object.fromEntries(without.map((feature) => [feature, false]));
  try {
    checkCreate(CreateSession.parse(body), effectivePlan(plan, { features }));
    return "none";
  } catch (error) {
    if (!isApiError(error)) throw error;
    const { field, feature, plan: cheapest } = error.context;
    return [error.code, field ?? feature, cheapest].filter(Boolean).join(" ");
  }
}

const stealth = true;
const proxy = "us";
const captcha = true;
const allowedDomains = ["a.com"];

describe("the first rule that is broken answers", () => {
  test.each<[string, object, PlanName, string[], string]>([
    ["nothing is broken", {}, "free", [], "none"],
    ["nothing is broken", { stealth, captcha }, "free", [], "none"],
    [
      "all at once on the highest plan",
      { stealth, proxy, captcha, allowedDomains },
      "professional",
      [],
      "none",
    ],
    ["(1) a proxy without stealth", { proxy }, "free", [], "ValidationError proxy"],
    ["(1) before (2)", { proxy, captcha }, "free", ["captcha"], "ValidationError proxy"],
    ["an object without fields is a proxy", { proxy: {} }, "starter", [], "ValidationError proxy"],
    ["(2) stealth", { stealth, proxy }, "free", ["stealth"], "FeatureRequiresPlan stealth free"],
    [
      "(2) proxy",
      { stealth, proxy, captcha },
      "free",
      ["captcha"],
      "FeatureRequiresPlan proxy starter",
    ],
    ["(2) captcha", { stealth, captcha }, "free", ["captcha"], "FeatureRequiresPlan captcha free"],
    ["(2) before (3)", { captcha }, "free", ["captcha"], "FeatureRequiresPlan captcha free"],
    [
      "(3) captcha without stealth",
      { captcha, allowedDomains },
      "free",
      [],
      "ValidationError captcha",
    ],
    [
      "then allowedDomains without stealth",
      { allowedDomains },
      "free",
      [],
      "ValidationError allowedDomains",
    ],
    [
      "then its feature",
      { stealth, allowedDomains },
      "starter",
      [],
      "FeatureRequiresPlan allowedDomains professional",
    ],
  ])("%s: %j on %s without %j is %s", (_name, body, plan, without, refusal) => {
    expect(refusalOf(body, plan, without)).toBe(refusal);
  });
});

test.each([
  [{ proxy: "zz" }, "proxy"],
  [{ proxy: 5, stealth }, "proxy"],
  [{ proxy: { country: "zz" }, stealth }, "proxy.country"],
  [{ proxy: { sessionDuration: 31 }, stealth }, "proxy.sessionDuration"],
  [{ allowedDomains: [] }, "allowedDomains"],
  [{ allowedDomains: "a.com", stealth }, "allowedDomains"],
  [{ allowedDomains: ["*.a.com"], stealth }, "allowedDomains.0"],
  [{ allowedDomains: [7], stealth }, "allowedDomains.0"],
])("the shape of a field comes before every rule: %j is 400 at %s", async (body, field) => {
  const { key } = await newOrg();
  const response = await call("/sessions", { ...json(body), bearer: key });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ code: "ValidationError", field });
});

test.each([{ allowedDomains: null }, { proxy: null }, { lease: null }])(
  "%j is the same as leaving it out",
  (body) => expect(refusalOf(body, "free")).toBe("none"),
);

test("a feature refusal is 402 with feature and plan, a broken rule 400 with field", async () => {
  const { key } = await newOrg("free", { features: { stealth: false } });
  const response = await call("/sessions", { ...json({ stealth }), bearer: key });
  expect(response.status).toBe(402);
  expect(await response.json()).toMatchObject({ feature: "stealth", plan: "free" });
});
