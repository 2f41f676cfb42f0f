import { LIMITS } from "@svc/contract/limits.ts";
import { removeTemplate, writeTemplate } from "../../control-plane/templates.ts";
import { writeSegment } from "../../control-plane/usage.ts";
import { registeredHosts } from "../fleet/registry.ts";
import { dropTemplate } from "../host-calls/templates.ts";
import type { TemplateDuty } from "./duties.ts";
import { type StoredTemplate, templateView } from "./record.ts";
import { strangers, type TemplateEvent } from "./transitions.ts";

/** Does one duty, from the template as it is now, so that late or twice does no harm. Answers what it found out. */
export async function perform(
  env: Env,
  template: StoredTemplate,
  duty: TemplateDuty,
): Promise<readonly TemplateEvent[]> {
  switch (duty) {
    case "row": {
      const view = templateView(template);
      if (view) await writeTemplate(env.DB, view);
      else await removeTemplate(env.DB, template.id);
      return [];
    }
    case "claim":
      await env.ORGS.getByName(template.org).dropBuild(template.id);
      return [];
    case "usage":
      await writeUsage(env, template);
      return [];
    case "hosts":
      return release(env, template);
  }
}

/** A build is a machine that runs: from its first host to its end. */
async function writeUsage(env: Env, { id, org: orgId, cpu, memMb, state }: StoredTemplate) {
  const { takenAt: startedAt } = state;
  if (startedAt === null || state.status === "building") return;
  const endedAt = state.status === "ready" ? state.readyAt : state.endedAt;
  await writeSegment(env.DB, { id, orgId, kind: "vm", startedAt, endedAt, cpu, memMb });
}

/** Tells hosts to let go of the template. A host that stays away for a day is not waited for: it forgets by itself what nobody asks about. */
async function release(env: Env, template: StoredTemplate): Promise<TemplateEvent[]> {
  const { id, org, state } = template;
  const registered = await registeredHosts(env);
  const isDeleted = state.status === "deleted";
  const holders = registered.filter(({ templates }) => isDeleted && templates?.includes(id));
  const hosts = new Set([...strangers(state), ...holders.map(({ hostId }) => hostId)]);
  const events: TemplateEvent[] = [];
  let isAnyLeft = false;
  for (const host of hosts) {
    const url = registered.find(({ hostId }) => hostId === host)?.url;
    const isDone = url !== undefined && (await dropped(env, url, { org, id }));
    if (isDone || hasWaited(state)) events.push({ type: "released", host });
    else isAnyLeft = true;
  }
  if (isAnyLeft) throw new Error("a host has not let go of a template");
  return events;
}

const dropped = (env: Env, url: string, subject: { org: string; id: string }): Promise<boolean> =>
  dropTemplate(env, url, subject).then(
    () => true,
    () => false,
  );

function hasWaited(state: StoredTemplate["state"]): boolean {
  const over =
    state.status === "failed" || state.status === "deleted"
      ? state.endedAt
      : Number.POSITIVE_INFINITY;
  return Date.now() - over > LIMITS.goneReadableMs;
}
