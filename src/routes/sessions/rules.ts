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
  if (wanted.recording) throw notRecorded();
}

function needsStealth(field: string): ApiError {
  return new ApiError("ValidationError", `${field}: requires stealth true`, { field });
}

/** 402 unless the plan has a feature. */
export function requireFeature(plan: Plan, feature: Feature): void {
  if (plan.features.includes(feature)) return;
  const cheapest = cheapestPlanWith(feature);
  const text = `${feature} needs the ${cheapest} plan.`;
  throw new ApiError("FeatureRequiresPlan", text, { feature, plan: cheapest });
}

/** This version has no recorder: refused, never silently ignored. */
function notRecorded(): ApiError {
  const field = "recording";
  return new ApiError("NotConfigured", "recording is not available on this deployment.", { field });
}
