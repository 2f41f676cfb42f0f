import type { Refusal } from "@svc/contract/errors.ts";
import { effectivePlan } from "@svc/contract/plans.ts";
import { findOrg } from "../../../control-plane/orgs.ts";
import type { Asleep } from "../../../durable-objects/sandbox/pause.ts";
import type { SandboxDO } from "../../../durable-objects/sandbox.ts";
import type { Located } from "../../../durable-objects/sandbox/exec.ts";
import { reach } from "../../objects.ts";
import { type Admitted, wake } from "./resume.ts";

type Sandbox = DurableObjectStub<SandboxDO>;

/**
 * Asks a sandbox for something that needs its machine. One that is paused and was made with `autoResume`
 * is resumed first, with a resume's admission and codes: those are thrown.
 */
export async function askAwake(
  env: Env,
  id: string,
  ask: (sandbox: Sandbox) => Promise<Located | Refusal | Asleep>,
): Promise<Located | Refusal> {
  const sandbox = env.SANDBOXES.getByName(id);
  const answer = await reach(() => ask(sandbox));
  if (!("asleep" in answer)) return answer;
  await wake(env, id, await admittedOf(env, answer.asleep.org));
  return reach(() => ask(sandbox));
}

/** What an org may have. A control plane that fails stands against no resume (document 2). */
async function admittedOf(env: Env, orgId: string): Promise<Admitted | null> {
  const org = await findOrg(env.DB, orgId).catch(() => null);
  if (!org) return null;
  const plan = effectivePlan(org.plan, org.overrides);
  return { orgId, planName: org.plan, plan, isPrepaid: org.creditCents !== null };
}
