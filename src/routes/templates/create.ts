import { ApiError, errorResponse, isRefusal } from "@svc/contract/errors.ts";
import type { BuildTemplate } from "@svc/contract/host-protocol/templates.ts";
import type { HostPlatform } from "@svc/contract/host-protocol/vm-states.ts";
import { newTemplateId } from "@svc/contract/ids.ts";
import type { VmKind } from "@svc/contract/vm/machine.ts";
import type { SavedMachine } from "../../../durable-objects/fleet/restorable.ts";
import { templateObject } from "../../../durable-objects/template.ts";
import type { AppContext, Handler } from "../../context.ts";
import { reach } from "../../objects.ts";
import { checkPlan, requireCredit } from "../sandboxes/rules.ts";
import { requireFeature } from "../sessions/rules.ts";
import { restorable } from "../snapshots/fork.ts";
import { ownedSnapshot } from "../snapshots/record.ts";
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
  const { saved, fromPlatform, ...ask } = await askOf(c, wanted);
  const { orgId: org, planName: plan } = caller;
  const { templates: cap } = caller.plan;
  const order = {
    id: newTemplateId(),
    org,
    plan,
    cap,
    name: wanted.name,
    ask,
    saved,
    fromPlatform,
  };
  const made = await reach(() => templateObject(c.env, org, order.id).create(order));
  if (isRefusal(made)) return errorResponse(made.refused);
  return c.json(templateOf(made.template), 202);
};

interface Beginning extends Pick<BuildTemplate, "from">, Partial<Sizes> {
  /** Where a snapshot can go on. */
  saved: SavedMachine | null;
  /** Where a template can, as far as that is known. */
  fromPlatform: HostPlatform | null;
}
type Sizes = Pick<BuildTemplate, "cpu" | "memMb" | "diskGb">;

async function askOf(
  c: AppContext,
  { name: _name, start, ...wanted }: WantedTemplate,
): Promise<BuildTemplate & Pick<Beginning, "saved" | "fromPlatform">> {
  const beginning = await beginningOf(c, wanted);
  const org = c.get("caller").orgId;
  return { ...wanted, ...beginning, org, ...(start && { start }) };
}

/** What it begins with. A template and a snapshot keep their sizes. */
async function beginningOf(
  c: AppContext,
  { from, kind }: Pick<WantedTemplate, "from" | "kind">,
): Promise<Beginning> {
  switch (from.type) {
    case "image":
      return { from, saved: null, fromPlatform: null };
    case "template": {
      const { template, platform: fromPlatform } = await bootable(c, from.id, kind);
      const { id, cpu, memMb, diskGb } = template;
      return { from: { type: "snapshot", id }, cpu, memMb, diskGb, saved: null, fromPlatform };
    }
    case "snapshot": {
      const snapshot = await ownedSnapshot(c, from.id);
      if (snapshot.kind !== kind) throw mismatch(snapshot.kind, kind);
      const { id, cpu, memMb, diskGb, hostId, isDurable, platform } = await restorable(c, snapshot);
      const saved = { hostId, isDurable, platform };
      return { from: { type: "snapshot", id }, cpu, memMb, diskGb, saved, fromPlatform: null };
    }
  }
}

function mismatch(of: VmKind, kind: VmKind): ApiError {
  const field = "compiled.from.snapshot";
  return new ApiError("ValidationError", `${field}: it is of a ${of}, not of a ${kind}`, { field });
}
