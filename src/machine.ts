import { ApiError, isApiError, isRefusal, type Refusal } from "@svc/contract/errors.ts";
import { effectivePlan, PLANS } from "@svc/contract/plans.ts";
import { findOrg } from "../control-plane/orgs.ts";
import type { Asleep, Located, SandboxDO } from "../durable-objects/sandbox.ts";
import { reach } from "./objects.ts";
import { noSandbox } from "./routes/sandboxes/owned.ts";
import { type Payer, wake } from "./routes/sandboxes/resume.ts";

type Asked = (object: DurableObjectStub<SandboxDO>) => Promise<Located | Asleep | Refusal>;

/**
 * Where the machine of a sandbox is, as its object answers what is asked. One that is paused and wants it
 * is resumed first, on its org's account: whoever has its URL need not have a key.
 */
export async function findMachine(env: Env, id: string, asked: Asked): Promise<Located> {
  const object = env.SANDBOXES.getByName(id);
  const ask = () => reach(() => asked(object));
  const first = await ask();
  if (!("asleep" in first)) return found(first);
  const sandbox = { ask: <P>(call: (one: typeof object) => P) => reach(() => call(object)) };
  await wake(env, sandbox, await payerOf(env, first.asleep));
  return found(await ask());
}

function found(answer: Located | Asleep | Refusal): Located {
  if ("asleep" in answer) throw new ApiError("NotRunning", "The sandbox is paused. Resume it.");
  if (!isRefusal(answer)) return answer;
  const { code, message, context } = answer.refused;
  throw new ApiError(code, message, context);
}

/** On a resume a control plane that fails is no refusal (document 2): then no plan stands against it. */
async function payerOf(env: Env, orgId: string): Promise<Payer> {
  try {
    const org = await findOrg(env.DB, orgId);
    if (!org) throw noSandbox();
    const plan = effectivePlan(org.plan, org.overrides);
    return { orgId, planName: org.plan, plan, isPrepaid: org.creditCents !== null };
  } catch (error) {
    if (!isApiError(error) || error.code !== "ControlPlaneUnavailable") throw error;
    const plan = { ...PLANS.professional, vms: Number.MAX_SAFE_INTEGER };
    return { orgId, planName: "professional", plan, isPrepaid: false };
  }
}
