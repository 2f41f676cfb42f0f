import { BuildReport, type BuildTemplate } from "@svc/contract/host-protocol/templates.ts";
import type { BuildStep } from "@svc/contract/vm/template-steps.ts";
import type { TemplateLogEntry } from "@svc/contract/vm/template.ts";
import type { Rig } from "./rig.ts";

const WAIT_MS = 5_000;

/** Asks a host to build. */
export const build = (
  rig: Rig,
  id: string,
  steps: BuildStep[],
  rest: Partial<BuildTemplate> = {},
): Promise<Response> =>
  rig.call("POST", `/templates/${id}`, id, {
    org: "org_test",
    kind: "sandbox",
    from: { type: "image", name: "base" },
    cpu: 2,
    memMb: 512,
    diskGb: 4,
    skipCache: false,
    steps,
    ...rest,
  });

export const drop = (rig: Rig, id: string): Promise<Response> =>
  rig.call("DELETE", `/templates/${id}`, id);

/** How a build stands, with what of its log lies beyond `offset`. */
export async function reportOf(rig: Rig, id: string, offset = 0): Promise<BuildReport> {
  const path = `/templates/${id}?offset=${offset}&waitMs=${WAIT_MS}`;
  const response = await rig.call("GET", path, id);
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  return BuildReport.parse(await response.json());
}

/** Follows a build until its report is so; with all of the log until then. */
export async function follow(
  rig: Rig,
  id: string,
  isSo: (report: BuildReport, log: TemplateLogEntry[]) => boolean = ({ state }) =>
    state === "ready" || state === "failed",
): Promise<{ report: BuildReport; log: TemplateLogEntry[] }> {
  const log: TemplateLogEntry[] = [];
  let offset = 0;
  for (let tries = 0; tries < 200; tries += 1) {
    const report = await reportOf(rig, id, offset);
    log.push(...report.entries);
    offset = report.nextOffset;
    if (isSo(report, log)) return { report, log };
  }
  throw new Error(`the build does not end: ${JSON.stringify(log.slice(-20))}`);
}

/** Builds to the end. */
export async function built(
  rig: Rig,
  id: string,
  steps: BuildStep[],
  rest: Partial<BuildTemplate> = {},
): Promise<{ report: BuildReport; log: TemplateLogEntry[] }> {
  const taken = await build(rig, id, steps, rest);
  if (taken.status !== 202) throw new Error(`${taken.status} ${await taken.text()}`);
  return follow(rig, id);
}

/** `step stream line`, of all or of one stream. */
export const lines = (log: TemplateLogEntry[], stream?: TemplateLogEntry["stream"]): string[] =>
  log
    .filter((entry) => stream === undefined || entry.stream === stream)
    .map(({ step, line }) => `${step} ${line}`);

/** A machine made of a template. */
export const made = (rig: Rig, id: string, template: string) =>
  rig.place(id, { source: { type: "snapshot", id: template, recordPath: "" } });
