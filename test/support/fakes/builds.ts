import type { IncomingMessage, ServerResponse } from "node:http";
import {
  type BuildRefused,
  BuildReport,
  BuildTemplate,
} from "@svc/contract/host-protocol/templates.ts";
import type { TemplateLogEntry } from "@svc/contract/vm/template.ts";
import * as z from "zod";
import { send } from "./pool.ts";

/**
 * How a fake host builds: `ok`, a line for each step, one with each question; `fail`, the same but for the last step;
 * `hang`, it says nothing; `lost`, it loses every build; `forgot`, it has lost the builds that it began in another mode,
 * and those that it begins now go well; the rest are refusals and faults.
 */
export const FakeBuildMode = z.enum([
  "ok",
  "fail",
  "hang",
  "lost",
  "forgot",
  "full",
  "lacking",
  "fault",
  "drop",
]);
export type FakeBuildMode = z.infer<typeof FakeBuildMode>;

/** How long it holds a question when there is nothing to tell. */
const HELD_MS = 200;

interface Call {
  mode: FakeBuildMode;
  id: string;
  text: string;
  request: IncomingMessage;
  response: ServerResponse;
}

/** The host's side of builds, with no machine behind it. */
export class FakeBuilds {
  readonly #builds = new Map<string, { body: BuildTemplate; begun: FakeBuildMode }>();
  readonly #ready = new Set<string>();

  get held(): string[] {
    return [...this.#ready];
  }

  answer(call: Call): void {
    const { mode, id, request, response } = call;
    if (mode === "drop") return void response.destroy();
    if (mode === "fault") return send(response, 500, "a bug");
    if (request.method === "POST") return this.#start(call);
    if (request.method === "GET") return this.#report(call);
    this.#builds.delete(id);
    this.#ready.delete(id);
    send(response, 204, "");
  }

  #start({ mode, id, text, response }: Call): void {
    const body = BuildTemplate.parse(JSON.parse(text));
    if (mode === "full" || mode === "lacking") {
      const refused: BuildRefused =
        mode === "full"
          ? { error: "no", code: "NoCapacity", hint: "No room here." }
          : { error: "no", code: "HostCapabilityMissing" };
      return send(response, mode === "full" ? 503 : 409, JSON.stringify(refused));
    }
    this.#builds.set(id, { body, begun: mode });
    send(response, 202, "");
  }

  #report({ mode, id, request, response }: Call): void {
    const build = this.#builds.get(id);
    const isLost = mode === "lost" || (mode === "forgot" && build?.begun !== mode);
    if (!build || isLost) {
      this.#builds.delete(id);
      return send(response, 404, "No such build\n");
    }
    const offset = Number(new URL(request.url ?? "", "http://host").searchParams.get("offset"));
    if (mode === "hang") {
      const hung: BuildReport = { state: "building", step: 0, entries: [], nextOffset: offset };
      setTimeout(() => send(response, 200, JSON.stringify(hung)), HELD_MS);
      return;
    }
    const report = reportOf(build.body, offset, mode === "fail");
    if (report.state === "ready") this.#ready.add(id);
    send(response, 200, JSON.stringify(BuildReport.parse(report)));
  }
}

/** The line after `offset`, or the end when there is none. */
function reportOf({ steps, cpu, memMb, diskGb }: BuildTemplate, offset: number, isBad: boolean) {
  const step = steps[offset];
  if (step) {
    const at = offset + 1;
    const line = `did ${step.type}`;
    const entry: TemplateLogEntry = { ts: Date.now(), step: at, stream: "stdout", line };
    return { state: "building", step: offset, entries: [entry], nextOffset: at };
  }
  const over = { entries: [], nextOffset: offset };
  const error = { step: steps.length, message: "false: exit code 1" };
  if (isBad) return { ...over, state: "failed", step: steps.length - 1, error };
  // Rounded up, as a real one does.
  const got = { cpu, memMb: Math.max(512, memMb), diskGb, sizeBytes: 1 };
  return { ...over, state: "ready", step: steps.length, got };
}
