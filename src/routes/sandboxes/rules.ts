import { ApiError, isApiError } from "@svc/contract/errors.ts";
import type { Plan } from "@svc/contract/plans.ts";
import type { VmKind } from "@svc/contract/vm/machine.ts";
import type { Snapshot } from "../../../control-plane/snapshots.ts";
import { creditLeft } from "../../../control-plane/usage.ts";
import type { KeptCaps } from "../../../durable-objects/org/messages.ts";
import type { Bootable } from "../../../durable-objects/template.ts";
import type { AppContext, Caller } from "../../context.ts";
import { requireFeature } from "../sessions/rules.ts";
import { forkOf } from "../snapshots/fork.ts";
import { bootable } from "../templates/boot.ts";
import { checkVolumes } from "../volumes/check.ts";
import { keptOf } from "./kept.ts";
import type { WantedSandbox } from "./read-create.ts";

/** What a create names. */
export interface Named {
  /** The snapshot that it begins from. */
  fork: Snapshot | null;
  /** The custom template. */
  template: Bootable | null;
  /** What the org may keep. Judged by the org's object, with the place of the new machine. */
  kept: KeptCaps;
}

/** What the org may have, in the order of document 2: product, feature, credit, then what the request names. */
export async function checkAdmission(c: AppContext, wanted: WantedSandbox): Promise<Named> {
  checkPlan(c.get("caller").plan, wanted.kind);
  const { source, kind } = wanted;
  const [, fork, template, , kept] = await firstRefusal([
    requireCredit(c.env, c.get("caller")),
    forkOf(c, wanted),
    source.type === "template" ? bootable(c, source.id, kind) : null,
    checkVolumes(c, wanted),
    keptOf(c.env, c.get("caller")),
  ]);
  return { fork, template, kept };
}

/** Waits for checks that run at the same time: all answers, or the refusal that is first in this order. */
async function firstRefusal<T extends readonly unknown[]>(
  asked: readonly [...T],
): Promise<{ -readonly [At in keyof T]: Awaited<T[At]> }> {
  const answers = await Promise.allSettled(asked);
  for (const answer of answers) if (answer.status === "rejected") throw answer.reason;
  // None was rejected.
  return Promise.all(asked);
}

/** 403 for a plan with neither product, 402 for one without this. */
export function checkPlan(plan: Plan, kind: VmKind): void {
  const { features } = plan;
  if (!features.includes("sandboxes") && !features.includes("desktops")) {
    throw new ApiError("NotEntitled", "This plan has neither sandboxes nor desktops.");
  }
  requireFeature(plan, kind === "desktop" ? "desktops" : "sandboxes");
}

/** 402 for a prepaid org whose credit is used up. */
export async function requireCredit(
  env: Env,
  { isPrepaid, orgId }: Pick<Caller, "isPrepaid" | "orgId">,
): Promise<void> {
  if (!isPrepaid) return;
  const cents = await creditOf(env, orgId);
  if (cents !== null && cents <= 0)
    throw new ApiError("InsufficientCredit", "The org's credit is used up.");
}

/** Admission fails closed: what cannot be asked is no yes. */
async function creditOf(env: Env, orgId: string): Promise<number | null> {
  try {
    return await creditLeft(env.DB, orgId, Date.now());
  } catch (error) {
    if (!isApiError(error)) throw error;
    throw new ApiError("AdmissionUnavailable", "The credit could not be checked. Try again.");
  }
}
