import type { CreateSandboxOrder } from "../../../durable-objects/sandbox/create.ts";
import type { Bootable } from "../../../durable-objects/template.ts";

/** The order of a create from a custom template: it goes on where the build ended, in the template's sizes. */
export function withTemplate(
  order: CreateSandboxOrder,
  start: Bootable | null,
): CreateSandboxOrder {
  if (!start) return order;
  const { id, cpu, memMb, diskGb } = start.template;
  const source = { type: "snapshot", id, recordPath: "" } as const;
  const body = { ...order.body, source, cpu, memMb, diskGb };
  return { ...order, template: id, body, origin: { saved: null, platform: start.platform } };
}
