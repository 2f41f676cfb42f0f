import { effectivePlan } from "@svc/contract/plans.ts";
import { findOrg } from "../../../control-plane/orgs.ts";
import { isResumeFirst } from "../../../durable-objects/sandbox/refusals.ts";
import type { SandboxDO } from "../../../durable-objects/sandbox.ts";
import { reach } from "../../objects.ts";
import { type Admitted, wake } from "./resume.ts";

type Sandbox = DurableObjectStub<SandboxDO>;

/**
 * Asks a sandbox for something that needs its machine. A sandbox that is paused and was made with `autoResume` is resumed
 * first, with a resume's admission and codes: those are thrown. `admitted` is what its org may have, when that is known.
 */
export async function askAwake<T extends object>(
  env: Env,
  id: string,
  ask: (sandbox: Sandbox) => Promise<T>,
  admitted?: Admitted,
): Promise<T> {
  const sandbox = env.SANDBOXES.getByName(id);
  const answer = await reach(() => ask(sandbox));
  if (!isResumeFirst(answer)) return answer;
  await wake(env, id, admitted ?? (await admittedOf(env, answer.resumeFirst.org)));
  return reach(() => ask(sandbox));
}

/** What an org may have. A control plane that fails stands against no resume (document 2). */
async function admittedOf(env: Env, orgId: string): Promise<Admitted | null> {
  const org = await findOrg(env.DB, orgId).catch(() => null);
  if (!org) return null;
  const plan = effectivePlan(org.plan, org.overrides);
  return { orgId, planName: org.plan, plan, isPrepaid: org.creditCents !== null };
}
