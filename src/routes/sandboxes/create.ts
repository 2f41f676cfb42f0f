import { errorResponse, isRefusal } from "@svc/contract/errors.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { mintVmId } from "@svc/contract/tokens.ts";
import { lifecycleOf } from "@svc/contract/vm/lifecycle.ts";
import type { VmKind } from "@svc/contract/vm/machine.ts";
import type { SandboxCreated } from "@svc/contract/vm/sandbox.ts";
import type { CreateSandboxOrder } from "../../../durable-objects/sandbox-create.ts";
import { type AppContext, baseUrlOf, type Handler } from "../../context.ts";
import { acquireTimeoutMs } from "../../env.ts";
import { reach } from "../../objects.ts";
import { readCreate, type WantedSandbox } from "./read-create.ts";
import { controlUrlOf } from "./record.ts";
import { checkAdmission } from "./rules.ts";

export const createSandbox: Handler = async (c) => {
  const wanted = await readCreate(c);
  await checkAdmission(c, wanted);
  const order = await orderOf(c, wanted);
  const made = await reach(() => c.env.SANDBOXES.getByName(order.id).create(order));
  if (isRefusal(made)) return errorResponse(made.refused);
  const { expiresAt, ...got } = made.created;
  const body: SandboxCreated = {
    sandboxId: order.id,
    kind: wanted.kind,
    controlUrl: controlUrlOf(baseUrlOf(c), order.id),
    expiresAt: new Date(expiresAt).toISOString(),
    ...got,
  };
  return c.json(body, 201);
};

/** The idle window of a machine that asks for none. */
export const defaultIdleMs = (kind: VmKind): number =>
  kind === "desktop" ? LIMITS.desktopIdleMs : LIMITS.sandboxIdleMs;

async function orderOf(c: AppContext, wanted: WantedSandbox): Promise<CreateSandboxOrder> {
  const { kind, source, isolation, cpu, memMb, diskGb, envs, metadata, record } = wanted;
  const { orgId: org, plan, planName } = c.get("caller");
  const createdAt = Date.now();
  const idleMs = Math.min(wanted.timeoutMs ?? defaultIdleMs(kind), plan.vmIdleMaxMs);
  // Templates and snapshots were refused above: nothing but an image is left.
  const name = source.type === "image" ? source.name : "base";
  return {
    id: await mintVmId(c.env.SVC_SIGNING_SECRET, { org, issuedAt: createdAt }),
    org,
    plan: planName,
    cap: plan.vms,
    template: name,
    metadata,
    createdAt,
    acquireMs: acquireTimeoutMs(c.env),
    idleMs,
    lifecycle: lifecycleOf(wanted.lifecycle, idleMs),
    volumes: wanted.volumes,
    body: {
      kind,
      source: { type: "image", name },
      isolation,
      cpu,
      memMb,
      diskGb,
      envs,
      ...(kind === "desktop" && { resolution: wanted.resolution }),
      ...(record && { record }),
    },
  };
}
