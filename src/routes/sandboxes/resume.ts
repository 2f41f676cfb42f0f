import { ApiError, isApiError, isRefusal } from "@svc/contract/errors.ts";
import type { SandboxResumed } from "@svc/contract/vm/sandbox.ts";
import { baseUrlOf, type Caller, type Handler } from "../../context.ts";
import { noSandbox, type OwnedSandbox, ownedSandbox } from "./owned.ts";
import { controlUrlOf } from "./record.ts";
import { requireCredit } from "./rules.ts";

export const resumeSandbox: Handler = async (c) => {
  const sandbox = await ownedSandbox(c);
  await resume(c.env, sandbox, c.get("caller"));
  const controlUrl = controlUrlOf(baseUrlOf(c), sandbox.id);
  const body: SandboxResumed = { state: "running", controlUrl };
  return c.json(body);
};

/** Whose account it is that pays for a machine that runs. */
export type Payer = Omit<Caller, "keyId">;

/** Resumes a sandbox because something needs it. One that somebody else has just resumed is as good. */
export async function wake(env: Env, sandbox: Asked, payer: Payer): Promise<void> {
  try {
    await resume(env, sandbox, payer);
  } catch (error) {
    if (!isApiError(error) || error.code !== "NotPaused") throw error;
  }
}

type Asked = Pick<OwnedSandbox, "ask">;

/** Resumes a paused sandbox; throws what stands against it. */
async function resume(env: Env, sandbox: Asked, payer: Payer): Promise<void> {
  const { plan, planName } = payer;
  const view = await sandbox.ask((object) => object.read());
  if (!view || view.goneAt !== null) throw noSandbox();
  if (!plan.features.includes(view.kind === "desktop" ? "desktops" : "sandboxes"))
    throw new ApiError("NotEntitled", "The plan does not include this any more.");
  await requireCreditIfKnown(env, payer);
  const admission = { plan: planName, cap: plan.vms };
  const answer = await sandbox.ask((object) => object.resume(admission));
  if (!isRefusal(answer)) return;
  const { code, message, context } = answer.refused;
  throw new ApiError(code, message, context);
}

/** On a resume a control plane that fails is no refusal (document 2). */
async function requireCreditIfKnown(env: Env, payer: Payer): Promise<void> {
  try {
    await requireCredit(env, payer);
  } catch (error) {
    if (!isApiError(error) || error.code !== "AdmissionUnavailable") throw error;
  }
}
