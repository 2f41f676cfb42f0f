import { type BuildRefused, BuildTemplate } from "@svc/contract/host-protocol/templates.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { TEMPLATE_LIMITS } from "@svc/contract/vm/template-limits.ts";
import { readJson, replyJson, replyText } from "@svc/host-kit/reply.ts";
import { reportOfTemplate } from "../builds/builds.ts";
import type { VmCall } from "./call.ts";
import { removeSnapshot } from "./states.ts";

/** POST, GET, DELETE /templates/:templateId: begins a build, reports on it, and removes it with its result. */
export async function answerBuild(call: VmCall): Promise<void> {
  const { readiness, id, request, response } = call;
  const { method } = request;
  if (method === "POST") return startBuild(call);
  if (method === "GET") return reportBuild(call);
  if (method !== "DELETE") return replyText(response, 405, "Method not allowed\n");
  await readiness.machinery?.builds.end(id);
  return removeSnapshot(call);
}

async function reportBuild({ readiness, store, id, query, response }: VmCall): Promise<void> {
  const params = new URLSearchParams(query);
  const [offset = 0, waitMs = 0] = ["offset", "waitMs"].map((name) => countOf(params.get(name)));
  const builds = readiness.machinery?.builds;
  const report = builds
    ? await builds.report(id, offset, Math.min(waitMs, TEMPLATE_LIMITS.newsMs))
    : reportOfTemplate(store, id, offset);
  return report ? replyJson(response, 200, report) : replyText(response, 404, "No such build\n");
}

const countOf = (text: string | null): number => (/^\d{1,12}$/.test(text ?? "") ? Number(text) : 0);

async function startBuild(call: VmCall): Promise<void> {
  const { readiness, vms, images, id, org, request, response } = call;
  const ask = BuildTemplate.safeParse(await readJson(request, 2 * LIMITS.hostBodyBytes));
  if (!ask.success || ask.data.org !== org) return replyText(response, 400, "Malformed build\n");
  const { machinery } = readiness;
  if (vms.isDraining || !machinery) return refuse(response, "NoCapacity");
  const { from } = ask.data;
  const found = from.type === "image" ? images.use(from.name) : undefined;
  if (found === null) return refuse(response, "HostCapabilityMissing");
  if (found && "hint" in found) return refuse(response, "NoCapacity", found.hint);
  machinery.builds.start(id, ask.data);
  replyText(response, 202);
}

function refuse(response: VmCall["response"], code: BuildRefused["code"], hint?: string): void {
  const isFinal = code === "HostCapabilityMissing";
  const error = isFinal ? "This host has no such image." : "This host builds nothing now.";
  const body: BuildRefused = { error, code, ...(hint !== undefined && { hint }) };
  replyJson(response, isFinal ? 409 : 503, body);
}
