import type { TemplateView } from "../../../control-plane/templates.ts";
import type { CreateSandboxOrder } from "../../../durable-objects/sandbox-create.ts";

/** A create from a custom template: it goes on where the build ended, in the template's sizes. */
export function withTemplate(
  order: CreateSandboxOrder,
  template: TemplateView | null,
): CreateSandboxOrder {
  if (!template) return order;
  const { id, cpu, memMb, diskGb } = template;
  const source = { type: "snapshot", id, recordPath: "" } as const;
  return { ...order, template: id, body: { ...order.body, source, cpu, memMb, diskGb } };
}
