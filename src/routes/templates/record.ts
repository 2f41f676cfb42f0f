import { BUILT_IN_TEMPLATES, VM_SIZES } from "@svc/contract/vm/machine.ts";
import type { BuiltInTemplate, Template } from "@svc/contract/vm/template.ts";
import type { TemplateView } from "../../../control-plane/templates.ts";

/** The record of a template, without internal fields. */
export function templateOf(view: TemplateView): Template {
  const { id: templateId, org: _org, error, createdAt, readyAt, ...facts } = view;
  return {
    templateId,
    ...facts,
    ...(error && { error }),
    createdAt: new Date(createdAt).toISOString(),
    ...(readyAt !== null && { readyAt: new Date(readyAt).toISOString() }),
  };
}

/** The templates that come with the service. */
export const BUILT_IN: BuiltInTemplate[] = Object.entries(BUILT_IN_TEMPLATES).map(
  ([name, kind]) => ({
    templateId: name,
    name,
    kind,
    state: "ready",
    cpu: VM_SIZES.cpu.default,
    memMb: VM_SIZES.memMb.default,
    diskGb: VM_SIZES.diskGb.default,
    step: 0,
    steps: 0,
    builtin: true,
  }),
);
