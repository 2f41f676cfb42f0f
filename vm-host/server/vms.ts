import type { ServerResponse } from "node:http";
import { RpcError } from "@svc/contract/control-channel/rpc-error.ts";
import type { GuestRefused } from "@svc/contract/host-protocol/files.ts";
import { PlaceVm, type VmRefused } from "@svc/contract/host-protocol/vms.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { Exec } from "@svc/contract/vm/exec.ts";
import { readJson, replyJson, replyText } from "@svc/host-kit/reply.ts";
import type { Capability } from "../driver.ts";
import type { FoundImage } from "../images/images.ts";
import { capabilitiesOf } from "../machinery.ts";
import { type Placed, refuse } from "../machines/vms.ts";
import { missingForShare } from "../shared/choose.ts";
import { replyAbsent, replyPaused } from "./broken-call.ts";
import { NOT_READY, type VmCall } from "./call.ts";
import { replyExecuted } from "./exec-answer.ts";

type Can = (capability: Capability) => boolean;

/** Parts of a create that hosts of another build may have. */
function missingCapabilities(ask: PlaceVm, can: Can): string[] {
  const { kind, volumes, record } = ask;
  return [
    missingForShare(ask),
    kind === "desktop" && !can("desktop") ? ["desktop"] : [],
    volumes?.length && !can("volumes.mount") ? ["volumes.mount"] : [],
    record && !(kind === "desktop" && can("recording")) ? ["recording"] : [],
  ].flat();
}

/** PUT /vms/:sandboxId */
export async function placeVm(call: VmCall): Promise<void> {
  const { readiness, images, id, org, request, response } = call;
  const ask = PlaceVm.safeParse(await readJson(request, LIMITS.hostBodyBytes));
  if (!ask.success) return replyText(response, 400, "Malformed placement\n");
  const { machinery } = readiness;
  const capabilities = capabilitiesOf(readiness, images);
  const can: Can = (name) => capabilities.has(name);
  const missing = missingCapabilities(ask.data, can);
  if (missing.length > 0) return refuseMissing(response, missing);
  const { source, isolation } = ask.data;
  if (source.type === "snapshot") {
    if (!machinery) return replyPlaced(response, refuse(503, "NoCapacity", NOT_READY));
    return replyPlaced(response, await machinery.states.fork(id, org, source.id, ask.data));
  }
  const found = images.use(source.name);
  if (!found) return refuseMissing(response, ["image"]);
  if (readiness.hint !== null) return refuseImage(response, { hint: readiness.hint });
  if ("hint" in found) return refuseImage(response, found);
  if (!machinery) return refuseImage(response, { hint: NOT_READY });
  const placing =
    isolation === "shared"
      ? machinery.shared.place({ id, org, ask: ask.data, ...found.bootable })
      : machinery.placer.place(id, ask.data, found.bootable);
  replyPlaced(response, await placing);
}

function refuseImage(
  response: ServerResponse,
  { hint, percent, onUse }: Exclude<FoundImage, { bootable: unknown }>,
): void {
  const code = onUse ? "TemplateNotReady" : "NoCapacity";
  const body: VmRefused = { error: "No image yet.", code, hint };
  replyJson(response, onUse ? 409 : 503, { ...body, ...(percent !== undefined && { percent }) });
}

function replyPlaced(response: ServerResponse, outcome: Placed): void {
  if ("placed" in outcome) return replyJson(response, 201, outcome.placed);
  replyJson(response, outcome.status, outcome.refused);
}

/** DELETE /vms/:sandboxId. Answered when the machine is gone: its capacity is free then. */
export async function endVm({ vms, id, response }: VmCall): Promise<void> {
  await vms.end(id);
  replyText(response, 204);
}

/** POST /vms/:sandboxId/exec */
export async function execute(call: VmCall): Promise<void> {
  const { vms, id, request, response } = call;
  const body = Exec.safeParse(await readJson(request, LIMITS.vmRequestBodyBytes));
  if (!body.success) return replyText(response, 400, "Malformed exec\n");
  const vm = vms.get(id);
  if (!vm) return replyAbsent(call);
  const over = vm.begin();
  const caller = new AbortController();
  response.once("close", () => caller.abort());
  try {
    const done = await vm.guest.execute(body.data, caller.signal);
    await replyExecuted(response, done).finally(() => done.free());
  } catch (error) {
    // Whoever asked has gone, and the command with them.
    if (caller.signal.aborted) return;
    if (!(error instanceof RpcError)) throw error;
    if (await replyPaused(response, vm, error)) return;
    const { message, data } = error;
    replyJson(response, 502, { error: message, code: data?.code ?? "" } satisfies GuestRefused);
  } finally {
    over();
  }
}

/** GET /vms/:sandboxId/metrics */
export async function readMetrics({ vms, id, response }: VmCall): Promise<void> {
  const vm = vms.get(id);
  if (!vm) return replyText(response, 404, "No such machine\n");
  replyJson(response, 200, await vm.metrics());
}

/** POST /drain */
export async function drain({ vms, response }: VmCall): Promise<void> {
  vms.drain();
  replyText(response, 202);
}

function refuseMissing(response: ServerResponse, missing: string[]): void {
  const body: VmRefused = {
    error: "This host cannot do that.",
    code: "HostCapabilityMissing",
    missingCapabilities: missing,
  };
  replyJson(response, 409, body);
}
