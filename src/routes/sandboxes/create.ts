import { LIMITS } from "@svc/contract/limits.ts";
import { mintVmId } from "@svc/contract/tokens.ts";
import { lifecycleOf } from "@svc/contract/vm/lifecycle.ts";
import type { VmSource } from "@svc/contract/host-protocol/vms.ts";
import { type VmKind, imageOfTemplate } from "@svc/contract/vm/machine.ts";
import type { SandboxCreated } from "@svc/contract/vm/sandbox.ts";
import { savedOf } from "../snapshots/record.ts";
import type { CreateSandboxOrder, SandboxMade } from "../../../durable-objects/sandbox/create.ts";
import { tried } from "../../../durable-objects/live/tried.ts";
import { accepted } from "../../accepted.ts";
import { type AppContext, baseUrlOf, type Handler } from "../../context.ts";
import { acquireTimeoutMs } from "../../env.ts";
import { reach } from "../../objects.ts";
import { readCreate, type WantedSandbox } from "./read-create.ts";
import { recorded, recordingOf } from "./recording.ts";
import { urlsOf } from "./record.ts";
import { checkAdmission, type Named } from "./rules.ts";
import { withTemplate } from "../templates/order.ts";

export const createSandbox: Handler = async (c) => {
  const wanted = await readCreate(c);
  const { id, urls, expiresAt, got } = await makeSandbox(c, wanted);
  const body: SandboxCreated = { sandboxId: id, kind: wanted.kind, ...urls, expiresAt, ...got };
  return c.json(body, 201);
};

/** A machine that was made: its id, its URLs, when its idle window ends, and what it got. */
interface MadeSandbox {
  id: string;
  urls: Pick<SandboxCreated, "controlUrl" | "streamUrl" | "recordingUrl">;
  expiresAt: string;
  got: Omit<SandboxMade["created"], "expiresAt">;
}

/** The pipeline of POST /sandboxes and POST /desktops. Throws what stands against it. */
export async function makeSandbox(c: AppContext, wanted: WantedSandbox): Promise<MadeSandbox> {
  const named = await checkAdmission(c, wanted);
  const order = withTemplate(await orderOf(c, wanted, named), named.template);
  const object = c.env.SANDBOXES.getByName(order.id);
  const { created } = await recorded(c, order, async () =>
    accepted(await reach(() => object.create(order))),
  );
  try {
    return await describe(c, order, wanted, created);
  } catch (error) {
    // A bug of ours: nobody learns of the machine, so nothing of it is left (document 2, 500).
    const { id, org } = order;
    await tried("sandbox_not_given_back", object.delete({ id, org }));
    throw error;
  }
}

/** The parts of the answer about a machine that was made. */
async function describe(
  c: AppContext,
  order: CreateSandboxOrder,
  wanted: WantedSandbox,
  { expiresAt, ...got }: SandboxMade["created"],
): Promise<MadeSandbox> {
  const { id } = order;
  const urls = {
    ...urlsOf(baseUrlOf(c), id, wanted.kind),
    ...(await recordingOf(c, order, wanted)),
  };
  return { id, urls, expiresAt: new Date(expiresAt).toISOString(), got };
}

/** The idle window of a machine that asks for none. */
export const defaultIdleMs = (kind: VmKind): number =>
  kind === "desktop" ? LIMITS.desktopIdleMs : LIMITS.sandboxIdleMs;

/** The image of a built-in template; a custom template replaces it (withTemplate). */
function imageOf(source: WantedSandbox["source"]): Extract<VmSource, { type: "image" }> {
  const name = source.type === "image" ? imageOfTemplate(source.name) : "base";
  return { type: "image", name };
}

async function orderOf(
  c: AppContext,
  wanted: WantedSandbox,
  { fork, kept }: Pick<Named, "fork" | "kept">,
): Promise<CreateSandboxOrder> {
  const { kind, source, isolation, envs, metadata, record } = wanted;
  // A machine of a snapshot has the sizes that it had.
  const { cpu, memMb, diskGb } = fork ?? wanted;
  const { orgId: org, plan, planName } = c.get("caller");
  const createdAt = Date.now();
  const idleMs = Math.min(wanted.timeoutMs ?? defaultIdleMs(kind), plan.vmIdleMaxMs);
  // A custom template replaces it (withTemplate).
  const name = source.type === "image" ? source.name : (fork?.template ?? "base");
  return {
    id: await mintVmId(c.env.SVC_SIGNING_SECRET, { org, issuedAt: createdAt }),
    org,
    plan: planName,
    cap: plan.vms,
    kept,
    template: name,
    metadata,
    createdAt,
    acquireMs: acquireTimeoutMs(c.env),
    idleMs,
    lifecycle: lifecycleOf(wanted.lifecycle, idleMs),
    volumes: wanted.volumes,
    body: {
      kind,
      source: fork ? { type: "snapshot", id: fork.id, recordPath: "" } : imageOf(source),
      isolation,
      cpu,
      memMb,
      diskGb,
      envs,
      // A fork begins with the screen of its origin.
      ...(kind === "desktop" && !fork && { resolution: wanted.resolution }),
      // Of a custom template nothing is ever recorded (document 2, POST /desktops).
      ...(record && source.type === "image" && { record }),
    },
    fromSnapshot: fork && fork.id,
    origin: { saved: fork && savedOf(fork), platform: null },
  };
}
