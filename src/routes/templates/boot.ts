import { ApiError } from "@svc/contract/errors.ts";
import type { VmKind } from "@svc/contract/vm/machine.ts";
import { templateObject, type Bootable } from "../../../durable-objects/template.ts";
import type { AppContext } from "../../context.ts";
import { reach } from "../../objects.ts";
import { checkOrigin } from "../../origin.ts";

/** Malformed, unknown, another org's: one answer, to the byte. */
export const noTemplate = (): ApiError => new ApiError("NotFound", "There is no such template.");

/** The object of a template of the caller's. */
export const ownTemplate = (c: AppContext, id: string) =>
  templateObject(c.env, c.get("caller").orgId, id);

/**
 * The template that a machine of this kind is made of. 404, then 400 for another kind, then 409 while it is not ready,
 * or when no registered host can run it.
 */
export async function bootable(c: AppContext, id: string, kind: VmKind): Promise<Bootable> {
  const start = await reach(() => ownTemplate(c, id).start());
  if (!start) throw noTemplate();
  const { template, platform } = start;
  if (template.kind !== kind) {
    const text = `template: it makes a ${template.kind}, not a ${kind}`;
    throw new ApiError("TemplateKindMismatch", text, { field: "template" });
  }
  if (template.state !== "ready") {
    const why = template.state === "failed" ? "its build failed" : "it is still being built";
    throw new ApiError("TemplateNotReady", `The template is not ready: ${why}.`);
  }
  await checkOrigin(c.env, kind, { saved: null, platform });
  return start;
}
