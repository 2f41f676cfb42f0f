import { type BuildRefused, BuildTemplate } from "@svc/contract/host-protocol/templates.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { TEMPLATE_LIMITS } from "@svc/contract/vm/template-limits.ts";
import { readJson, replyJson, replyText } from "@svc/host-kit/reply.ts";
import type { Builds } from "../builds/builds.ts";
import { removeSnapshot } from "./states.ts";
import type { VmCall } from "./front.ts";

/** POST, GET, DELETE /templates/:templateId: a build, how it stands, and its end with what came of it. */
export async function answerBuild(call: VmCall & { builds: Builds; query: string }): Promise<void> {
  const { builds, id, request, response, query } = call;
  const { method } = request;
  if (method === "POST") return startBuild(call);
  if (method === "GET") {
    const params = new URLSearchParams(query);
    const [offset = 0, waitMs = 0] = ["offset", "waitMs"].map((name) => countOf(params.get(name)));
    const report = await builds.report(id, offset, Math.min(waitMs, TEMPLATE_LIMITS.newsMs));
    return report ? replyJson(response, 200, report) : replyText(response, 404, "No such build\n");
  }
  if (method !== "DELETE") return replyText(response, 405, "Method not allowed\n");
  await builds.end(id);
  return removeSnapshot(call);
}

const countOf = (text: string | null): number => (/^\d{1,12}$/.test(text ?? "") ? Number(text) : 0);

async function startBuild({
  builds,
  vms,
  id,
  org,
  request,
  response,
}: VmCall & { builds: Builds }) {
  const ask = BuildTemplate.safeParse(await readJson(request, 2 * LIMITS.hostBodyBytes));
  if (!ask.success || ask.data.org !== org) return replyText(response, 400, "Malformed build\n");
  if (ask.data.kind === "desktop") return refuse(response, "HostCapabilityMissing");
  const isTaken = !vms.isDraining && builds.start(id, ask.data);
  return isTaken ? replyText(response, 202) : refuse(response, "NoCapacity");
}

function refuse(response: VmCall["response"], code: BuildRefused["code"]): void {
  const isFinal = code === "HostCapabilityMissing";
  const error = isFinal ? "This host builds no desktops." : "This host builds nothing now.";
  const body: BuildRefused = { error, code };
  replyJson(response, isFinal ? 409 : 503, body);
}
