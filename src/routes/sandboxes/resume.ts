import { ApiError, isApiError } from "@svc/contract/errors.ts";
import type { VmKind } from "@svc/contract/vm/machine.ts";
import type { SandboxResumed } from "@svc/contract/vm/sandbox.ts";
import type { Admission } from "../../../durable-objects/sandbox/admission.ts";
import { accepted } from "../../accepted.ts";
import { baseUrlOf, type Caller, type Handler } from "../../context.ts";
import { reach } from "../../objects.ts";
import { keptOf } from "./kept.ts";
import { noSandbox, ownedSandbox } from "./owned.ts";
import { controlUrlOf } from "./record.ts";
import { requireCredit } from "./rules.ts";

export const resumeSandbox: Handler = async (c) => {
  const { id } = await ownedSandbox(c);
  await resumeAs(c.env, id, c.get("caller"));
  const body: SandboxResumed = { state: "running", controlUrl: controlUrlOf(baseUrlOf(c), id) };
  return c.json(body);
};

/** What an org may have: that decides whether its sandbox may be resumed. */
export type Admitted = Omit<Caller, "keyId">;

/** Resumes a sandbox because something needs it. It is no error when it was resumed meanwhile. */
export async function wake(env: Env, id: string, admitted: Admitted | null): Promise<void> {
  try {
    await resumeAs(env, id, admitted);
  } catch (error) {
    if (!isApiError(error) || error.code !== "NotPaused") throw error;
  }
}

/** Resumes a paused sandbox; throws why it cannot be. `admitted` is null when the control plane did not answer. */
export async function resumeAs(env: Env, id: string, admitted: Admitted | null): Promise<void> {
  const sandbox = env.SANDBOXES.getByName(id);
  const kind = await reach(() => sandbox.kind());
  if (!kind) throw noSandbox();
  if (admitted) await checkResume(env, kind, admitted);
  const admission = await admissionOf(env, admitted);
  accepted(await reach(() => sandbox.resume(admission)));
}

/** The caps by which a paused machine may run again. */
export async function admissionOf(env: Env, admitted: Admitted | null): Promise<Admission> {
  const { plan, planName = "" } = admitted ?? {};
  const kept = await keptOf(env, admitted);
  return { plan: planName, cap: plan?.vms ?? Infinity, kept };
}

/** What an org must have for a paused machine to run again. */
export async function checkResume(env: Env, kind: VmKind, admitted: Admitted): Promise<void> {
  if (!admitted.plan.features.includes(kind === "desktop" ? "desktops" : "sandboxes"))
    throw new ApiError("NotEntitled", "The plan does not include this any more.");
  await requireCreditIfKnown(env, admitted);
}

/** On a resume a control plane that fails is no refusal (document 2). */
async function requireCreditIfKnown(env: Env, admitted: Admitted): Promise<void> {
  try {
    await requireCredit(env, admitted);
  } catch (error) {
    if (!isApiError(error) || error.code !== "AdmissionUnavailable") throw error;
  }
}
