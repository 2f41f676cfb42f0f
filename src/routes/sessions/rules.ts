import type { CreateSession } from "@svc/contract/browser/session.ts";
import { ApiError } from "@svc/contract/errors.ts";
import { cheapestPlanWith, type Feature, type Plan } from "@svc/contract/plans.ts";

/** Options of the document that this version does not serve yet: refused, never silently ignored. */
const NOT_YET = ["recording", "captcha", "profileId", "proxy", "allowedDomains"] as const;

/** The order of checks of POST /sessions. Throws the first refusal. */
export function checkCreate(wanted: CreateSession, plan: Plan): void {
  if (wanted.stealth) requireFeature(plan, "stealth");
  for (const field of NOT_YET) if (isAsked(field, wanted[field])) throw notYet(field);
}

function isAsked(field: (typeof NOT_YET)[number], value: unknown): boolean {
  if (field === "profileId") return typeof value === "string" && value !== "";
  if (field === "proxy") return value !== undefined && value !== null && value !== "off";
  if (field === "allowedDomains") return value !== undefined && value !== null;
  return value === true;
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
