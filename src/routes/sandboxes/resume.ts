import { ApiError, isApiError, isRefusal } from "@svc/contract/errors.ts";
import type { SandboxResumed } from "@svc/contract/vm/sandbox.ts";
import { type AppContext, baseUrlOf, type Handler } from "../../context.ts";
import { noSandbox, type OwnedSandbox, ownedSandbox } from "./owned.ts";
import { controlUrlOf } from "./record.ts";
import { requireCredit } from "./rules.ts";

export const resumeSandbox: Handler = async (c) => {
  const sandbox = await ownedSandbox(c);
  await resumeOwned(c, sandbox);
  const controlUrl = controlUrlOf(baseUrlOf(c), sandbox.id);
  const body: SandboxResumed = { state: "running", controlUrl };
  return c.json(body);
};

/** Resumes a paused sandbox of the caller's; throws what stands against it. */
export async function resumeOwned(c: AppContext, sandbox: OwnedSandbox): Promise<void> {
  const { plan, planName } = c.get("caller");
  const view = await sandbox.ask((object) => object.read());
  if (!view || view.goneAt !== null) throw noSandbox();
  if (!plan.features.includes(view.kind === "desktop" ? "desktops" : "sandboxes"))
    throw new ApiError("NotEntitled", "The plan does not include this any more.");
  await requireCreditIfKnown(c);
  const admission = { plan: planName, cap: plan.vms };
  const answer = await sandbox.ask((object) => object.resume(admission));
  if (!isRefusal(answer)) return;
  const { code, message, context } = answer.refused;
  throw new ApiError(code, message, context);
}

/** On a resume a control plane that fails is no refusal (document 2). */
async function requireCreditIfKnown(c: AppContext): Promise<void> {
  try {
    await requireCredit(c);
  } catch (error) {
    if (!isApiError(error) || error.code !== "AdmissionUnavailable") throw error;
  }
}
