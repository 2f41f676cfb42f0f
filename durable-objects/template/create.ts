import { type Refusal, refusal } from "@svc/contract/errors.ts";
import type { BuildTemplate } from "@svc/contract/host-protocol/templates.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { TEMPLATE_LIMITS } from "@svc/contract/vm/template-limits.ts";
import { planLimit } from "../../control-plane/kept.ts";
import { beginTemplate, type TemplateView } from "../../control-plane/templates.ts";
import type { Origin } from "../fleet/restorable.ts";
import { granted } from "../org/reserve.ts";
import { type LiveTemplate, type StoredTemplate, templateView } from "./record.ts";
import { newBuild } from "./transitions.ts";

/** What a TemplateDO is told to build. */
export interface CreateTemplateOrder {
  id: string;
  org: string;
  plan: string;
  /** How many templates the plan allows. */
  cap: number;
  name: string;
  ask: BuildTemplate;
  /** The snapshot or template that it begins with. */
  origin: Origin;
}

/** Begins a build. The template is in the org's list when this answers. */
export async function createTemplate(
  live: LiveTemplate,
  order: CreateTemplateOrder,
): Promise<{ template: TemplateView } | Refusal> {
  const { env, record, log } = live;
  const refused = await reserve(env, order);
  if (refused) return refused;
  const template = newTemplate(order, Date.now());
  log.begin();
  live.order.save(order.ask);
  record.write(template);
  const view = templateView(template);
  const isEntered = view && (await beginTemplate(env.DB, view, order.cap).catch(() => null));
  if (isEntered) {
    record.tickOff("row");
    record.note({ lookAt: Date.now() });
    return { template: view };
  }
  // A template that nobody was told of is not built.
  record.apply({ type: "cancel" });
  record.apply({ type: "delete" });
  if (isEntered === false) return planLimit("template", order);
  return refusal("ControlPlaneUnavailable", "The template could not be written. Try again.");
}

function reserve(env: Env, { id, org, plan }: CreateTemplateOrder): Promise<Refusal | null> {
  const { buildsAtOnce: cap, buildMs, hostWaitMs } = TEMPLATE_LIMITS;
  const lapsesAt = Date.now() + buildMs + hostWaitMs + LIMITS.overdueMs;
  const asking = env.ORGS.getByName(org).reserveBuild({ id, cap, lapsesAt });
  const text = "Another template of the org is being built. Wait for it, or cancel it.";
  const unknown = "The builds of the org could not be counted. Try again.";
  return granted(
    asking,
    { plan, cap, kind: "template", text },
    refusal("AdmissionUnavailable", unknown),
  );
}

function newTemplate(order: CreateTemplateOrder, now: number): StoredTemplate {
  const { id, org, name, ask, origin } = order;
  const { kind, cpu, memMb, diskGb, steps } = ask;
  const facts = { id, org, name, kind, cpu, memMb, diskGb, steps: steps.length, createdAt: now };
  return {
    ...facts,
    saved: origin.saved,
    fromPlatform: origin.platform,
    hostOffset: 0,
    state: newBuild(now),
    // Before its row is there no host is asked. An object that dies until then is woken for both.
    owed: ["row"],
    retryAt: now + LIMITS.objectCallMs,
    lookAt: now + LIMITS.objectCallMs,
  };
}
