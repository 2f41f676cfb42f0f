import type { VmKind } from "@svc/contract/vm/machine.ts";
import type { SandboxRecord } from "@svc/contract/vm/sandbox.ts";
import type { SandboxView } from "../../../durable-objects/org/messages.ts";

/** Where a sandbox's control channel is: ws:// when the base URL is http. */
export function controlUrlOf(baseUrl: string, id: string): string {
  return `${baseUrl.replace(/^http/, "ws")}/control/${encodeURIComponent(id)}`;
}

/** Where a machine of a kind is reached by sockets: only a desktop has a screen. */
export function urlsOf(baseUrl: string, id: string, kind: VmKind) {
  const controlUrl = controlUrlOf(baseUrl, id);
  if (kind === "sandbox") return { controlUrl };
  return { controlUrl, streamUrl: controlUrl.replace("/control/", "/stream/") };
}

/** The record of GET /sandboxes/:id and of the list. Nothing internal, and no controlUrl. */
export function recordOf(view: SandboxView): SandboxRecord {
  const { id: sandboxId, kind, state, metadata, template, cpu, memMb, diskGb } = view;
  const { createdAt, expiresAt, closeReason, resolution } = view;
  return {
    sandboxId,
    kind,
    state,
    metadata,
    template,
    cpu,
    memMb,
    diskGb,
    createdAt: new Date(createdAt).toISOString(),
    expiresAt: new Date(expiresAt).toISOString(),
    ...(resolution !== null && { resolution }),
    ...(closeReason && { closeReason }),
  };
}
