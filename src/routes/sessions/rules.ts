import type { CreateSession } from "@svc/contract/browser/session.ts";
import { ApiError } from "@svc/contract/errors.ts";
import { cheapestPlanWith, type Feature, type Plan } from "@svc/contract/plans.ts";

/**
 * The cross-field order of POST /sessions (document 1), after the shapes of the fields: throws the
 * first refusal.
 */
export function checkCreate(wanted: CreateSession, plan: Plan): void {
  const [first] = refusals(wanted, plan);
  if (first) throw first;
}

/** The same, but only for a request that no plan would let pass: a refused feature alone says nothing. */
export function checkUnlessPlanHelps(wanted: CreateSession, plan: Plan): void {
  const all = refusals(wanted, plan);
  const [first] = all;
  if (first && all.some(({ code }) => code === "ValidationError")) throw first;
}

/** All that stands against a create, in the documented order. */
function refusals(wanted: CreateSession, plan: Plan): ApiError[] {
  const { stealth, captcha, saveProfileOnRelease, profileId } = wanted;
  const isProxied = wanted.proxy.mode !== "off";
  const isConfined = Boolean(wanted.allowedDomains);
  const refused = [
    isProxied && !stealth && needsStealth("proxy"),
    stealth && lackOf(plan, "stealth"),
    isProxied && lackOf(plan, "proxy"),
    captcha && lackOf(plan, "captcha"),
    captcha && !stealth && needsStealth("captcha"),
    isConfined && !stealth && needsStealth("allowedDomains"),
    isConfined && lackOf(plan, "allowedDomains"),
    saveProfileOnRelease && profileId === null && needsProfile(),
  ];
  return refused.filter((one) => one instanceof ApiError);
}

function needsStealth(field: string): ApiError {
  return new ApiError("ValidationError", `${field}: requires stealth true`, { field });
}

function needsProfile(): ApiError {
  const field = "saveProfileOnRelease";
  return new ApiError("ValidationError", `${field}: requires profileId`, { field });
}

/** 402 unless the plan has a feature. */
export function requireFeature(plan: Plan, feature: Feature): void {
  const lack = lackOf(plan, feature);
  if (lack) throw lack;
}

function lackOf(plan: Plan, feature: Feature): ApiError | null {
  if (plan.features.includes(feature)) return null;
  const cheapest = cheapestPlanWith(feature);
  const text = `${feature} needs the ${cheapest} plan.`;
  return new ApiError("FeatureRequiresPlan", text, { feature, plan: cheapest });
}
