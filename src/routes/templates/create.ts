import { ApiError, errorResponse, isRefusal } from "@svc/contract/errors.ts";
import type { BuildTemplate } from "@svc/contract/host-protocol/templates.ts";
import { newTemplateId } from "@svc/contract/ids.ts";
import { templateObject } from "../../../durable-objects/template.ts";
import type { AppContext, Handler } from "../../context.ts";
import { reach } from "../../objects.ts";
import { checkPlan, requireCredit } from "../sandboxes/rules.ts";
import { requireFeature } from "../sessions/rules.ts";
import { bootable } from "./boot.ts";
import { readTemplate, type WantedTemplate } from "./read-create.ts";
import { templateOf } from "./record.ts";

/** Product, feature, credit, what it begins with, then the org's place for builds. */
export const createTemplate: Handler = async (c) => {
  const wanted = await readTemplate(c);
  const caller = c.get("caller");
  checkPlan(caller.plan, wanted.kind);
  requireFeature(caller.plan, "templates");
  await requireCredit(c.env, caller);
  const ask = await askOf(c, wanted);
  const { orgId: org, planName: plan } = caller;
  const order = { id: newTemplateId(), org, plan, name: wanted.name, ask };
  const made = await reach(() => templateObject(c.env, org, order.id).create(order));
  if (isRefusal(made)) return errorResponse(made.refused);
  return c.json(templateOf(made.template), 202);
};

async function askOf(c: AppContext, { name: _name, start, ...wanted }: WantedTemplate) {
  const { from, ...sizes } = await beginningOf(c, wanted);
  const org = c.get("caller").orgId;
  return { ...wanted, ...sizes, org, from, ...(start && { start }) } satisfies BuildTemplate;
}

/** What it begins with. A template keeps its sizes. */
async function beginningOf(
  c: AppContext,
  { from, kind }: Pick<WantedTemplate, "from" | "kind">,
): Promise<Pick<BuildTemplate, "from"> & Partial<BuildTemplate>> {
  switch (from.type) {
    case "image":
      return { from };
    case "template": {
      const { id, cpu, memMb, diskGb } = await bootable(c, from.id, kind);
      return { from: { type: "snapshot", id }, cpu, memMb, diskGb };
    }
    case "snapshot":
      throw new ApiError("NotFound", "There is no such snapshot.");
  }
}
