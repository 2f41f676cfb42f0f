import { ApiError } from "@svc/contract/errors.ts";
import type { BuildTemplate } from "@svc/contract/host-protocol/templates.ts";
import { newTemplateId } from "@svc/contract/ids.ts";
import type { VmKind } from "@svc/contract/vm/machine.ts";
import { accepted } from "../../accepted.ts";
import type { Origin } from "../../../durable-objects/fleet/restorable.ts";
import { templateObject } from "../../../durable-objects/template.ts";
import type { AppContext, Handler } from "../../context.ts";
import { reach } from "../../objects.ts";
import { checkPlan, requireCredit } from "../sandboxes/rules.ts";
import { requireFeature } from "../sessions/rules.ts";
import { restorable } from "../snapshots/fork.ts";
import { ownedSnapshot, savedOf } from "../snapshots/record.ts";
import { bootable } from "./boot.ts";
import { readTemplate, type WantedTemplate } from "./read-create.ts";
import { templateOf } from "./record.ts";

/** Checks product, feature, credit, what the build begins with, then the org's place for builds. */
export const createTemplate: Handler = async (c) => {
  const wanted = await readTemplate(c);
  const caller = c.get("caller");
  checkPlan(caller.plan, wanted.kind);
  requireFeature(caller.plan, "templates");
  await requireCredit(c.env, caller);
  const { origin, ...ask } = await askOf(c, wanted);
  const { orgId: org, planName: plan } = caller;
  const { templates: cap } = caller.plan;
  const order = { id: newTemplateId(), org, plan, cap, name: wanted.name, ask, origin };
  const { template } = accepted(
    await reach(() => templateObject(c.env, org, order.id).create(order)),
  );
  return c.json(templateOf(template), 202);
};

interface Beginning extends Pick<BuildTemplate, "from">, Partial<Sizes> {
  /** Where that can go on. */
  origin: Origin;
}
type Sizes = Pick<BuildTemplate, "cpu" | "memMb" | "diskGb">;

async function askOf(
  c: AppContext,
  { name: _name, start, ...wanted }: WantedTemplate,
): Promise<BuildTemplate & Pick<Beginning, "origin">> {
  const beginning = await beginningOf(c, wanted);
  const org = c.get("caller").orgId;
  return { ...wanted, ...beginning, org, ...(start && { start }) };
}

/** What the build begins with. A template and a snapshot keep their sizes. */
async function beginningOf(
  c: AppContext,
  { from, kind }: Pick<WantedTemplate, "from" | "kind">,
): Promise<Beginning> {
  switch (from.type) {
    case "image":
      return { from, origin: { saved: null, platform: null } };
    case "template": {
      const { template, platform } = await bootable(c, from.id, kind);
      const { id, cpu, memMb, diskGb } = template;
      const origin = { saved: null, platform };
      return { from: { type: "snapshot", id }, cpu, memMb, diskGb, origin };
    }
    case "snapshot": {
      const snapshot = await ownedSnapshot(c, from.id);
      if (snapshot.kind !== kind) throw mismatch(snapshot.kind, kind);
      const { id, cpu, memMb, diskGb } = await restorable(c, snapshot);
      const origin = { saved: savedOf(snapshot), platform: null };
      return { from: { type: "snapshot", id }, cpu, memMb, diskGb, origin };
    }
  }
}

function mismatch(of: VmKind, kind: VmKind): ApiError {
  const field = "compiled.from.snapshot";
  return new ApiError("ValidationError", `${field}: it is of a ${of}, not of a ${kind}`, { field });
}
