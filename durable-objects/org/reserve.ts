import { type ErrorContext, type Refusal, refusal } from "@svc/contract/errors.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { planLimit } from "../../control-plane/kept.ts";
import { atMost } from "../live/deadline.ts";
import { tried } from "../live/tried.ts";
import type { SandboxReserved } from "./messages.ts";

/** A cap of an org's plan, and the words of a refusal when it is full. */
export interface Cap extends Pick<ErrorContext, "cap" | "kind"> {
  plan: string;
  text: string;
}

/** Waits for an org's answer to a claim. Null when it was granted; `unavailable` when the org does not answer. */
export async function granted(
  asking: Promise<SandboxReserved>,
  { text, ...cap }: Cap,
  unavailable: Refusal | null,
): Promise<Refusal | null> {
  const answer = await tried("claim_unanswered", atMost(LIMITS.objectCallMs, asking));
  if (answer === null) return unavailable;
  if (answer.reserved) return null;
  if ("full" in answer)
    return planLimit(answer.full.kind, { plan: cap.plan, cap: answer.full.cap });
  return refusal("ConcurrencyLimitExceeded", text, { ...cap, holders: answer.holders });
}

/** The cap of sandboxes and desktops that run at once. */
export const vmCap = ({ plan, cap }: { plan: string; cap: number }): Cap => ({
  plan,
  cap,
  kind: "vm",
  text: `The ${plan} plan allows ${cap} VMs at once. Release one and try again.`,
});
