import type { HostRecord } from "@svc/contract/admin/hosts.ts";
import {
  BUILT_IN_TEMPLATES,
  VM_SIZES,
  type VmKind,
  imageOfTemplate,
} from "@svc/contract/vm/machine.ts";
import type { BuiltInTemplate, Template } from "@svc/contract/vm/template.ts";
import type { TemplateView } from "../../../control-plane/templates.ts";
import { knownHosts } from "../../../durable-objects/fleet/registry.ts";
import { hasImage, hostsWith, openVmHosts } from "../../../durable-objects/fleet/restorable.ts";

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

/** The templates that come with the service, as the registered hosts can serve them. */
export async function builtInTemplates(env: Env): Promise<BuiltInTemplate[]> {
  const hosts = openVmHosts(await knownHosts(env));
  return Object.entries(BUILT_IN_TEMPLATES).map(([name, kind]) => ({
    templateId: name,
    name,
    kind,
    ...standingOf(name, kind, hosts),
    cpu: VM_SIZES.cpu.default,
    memMb: VM_SIZES.memMb.default,
    diskGb: VM_SIZES.diskGb.default,
    step: 0,
    steps: 0,
    builtin: true,
  }));
}

/** Whether a create with a built-in template can succeed, and why it cannot: `ready` where a host can serve it, `building` until then. */
function standingOf(
  name: string,
  kind: VmKind,
  hosts: HostRecord[],
): Pick<BuiltInTemplate, "state" | "error"> {
  const failed = (message: string) => ({ state: "failed" as const, error: { step: 0, message } });
  const wanted = imageOfTemplate(name);
  const able = hostsWith(hosts, kind === "desktop" ? ["desktop"] : []);
  if (able.some((host) => hasImage(host, wanted))) return { state: "ready" };
  const reports = hosts.flatMap(({ images = [] }) => images.filter((one) => one.name === wanted));
  // An image that waits for its first use is built by the first create.
  if (reports.some(({ state, onUse }) => state === "building" || onUse))
    return { state: "building" };
  return failed(reports.find(({ hint }) => hint)?.hint ?? "No registered VM host has its image.");
}
