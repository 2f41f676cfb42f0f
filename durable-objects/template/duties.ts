import type { TemplateState } from "./transitions.ts";

/**
 * What a change obliges a template's object to; each is repeated until done. `row`: write the org's list. `claim`: free
 * the org's place for builds. `usage`: write the bill. `hosts`: have hosts let go of the template.
 */
export type TemplateDuty = "row" | "claim" | "usage" | "hosts";

/** The duties of going from one state to another. */
export function duties(before: TemplateState, after: TemplateState): TemplateDuty[] {
  if (before.status === after.status)
    return after.status !== "building" && after.hosts.length > before.hosts.length ? ["hosts"] : [];
  if (after.status === "deleted") return ["row", "hosts"];
  const usage: TemplateDuty[] = after.takenAt === null ? [] : ["usage"];
  return ["row", "claim", "hosts", ...usage];
}
