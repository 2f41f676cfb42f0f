import type { CreateSession } from "@svc/contract/browser/session.ts";
import { ApiError } from "@svc/contract/errors.ts";
import { cheapestPlanWith, type Feature, type Plan } from "@svc/contract/plans.ts";

/**
 * The cross-field order of POST /sessions (document 1), after the shapes of the fields: throws the
 * first refusal.
 */
export function checkCreate(wanted: CreateSession, plan: Plan): void {
  const { stealth, captcha, allowedDomains } = wanted;
  const isProxied = wanted.proxy.mode !== "off";
  if (isProxied && !stealth) throw needsStealth("proxy");
  if (stealth) requireFeature(plan, "stealth");
  if (isProxied) requireFeature(plan, "proxy");
  if (captcha) requireFeature(plan, "captcha");
  if (captcha && !stealth) throw needsStealth("captcha");
  if (allowedDomains && !stealth) throw needsStealth("allowedDomains");
  if (allowedDomains) requireFeature(plan, "allowedDomains");
  // Not served by this version: refused, never silently ignored.
  if (wanted.recording) throw notYet("recording");
  if (wanted.profileId !== null) throw notYet("profileId");
}

function needsStealth(field: string): ApiError {
  return new ApiError("ValidationError", `${field}: requires stealth true`, { field });
}

function requireFeature(plan: Plan, feature: Feature): void {
  if (plan.features.includes(feature)) return;
  const cheapest = cheapestPlanWith(feature);
  const text = `${feature} needs the ${cheapest} plan.`;
  throw new ApiError("FeatureRequiresPlan", text, { feature, plan: cheapest });
}

function notYet(field: string): ApiError {
  return new ApiError("NotConfigured", `${field} is not available on this deployment.`, { field });
}
