import { Template, type TemplateLogEntry, TemplateLogs } from "@svc/contract/vm/template.ts";
import { vi } from "vitest";
import { call, json } from "./gateway.ts";
import { anotherVmHost, newVmHost, type VmHost } from "./vm-host.ts";

export const STEPS = [
  { type: "run", cmd: "echo one" },
  { type: "write", path: "/srv/a", content: "a" },
] as const;

/** The body of a small build. */
export const bodyOf = (compiled: object = {}, facts: object = {}) => ({
  name: "mine",
  compiled: { from: { template: "base" }, steps: STEPS, ...compiled },
  ...facts,
});

/** A fake host that builds, alone in the fleet. */
export const newBuildHost = (): Promise<VmHost> => newVmHost({ capabilities: ["snapshots"] });
export const anotherBuildHost = (): Promise<VmHost> =>
  anotherVmHost({ capabilities: ["snapshots"] });

export const post = (key: string, body: unknown, init: RequestInit = {}): Promise<Response> =>
  call("/templates", { ...json(body), bearer: key, ...init });

/** Begins a build and answers its record. */
export async function newTemplate(key: string, body: object = bodyOf()): Promise<Template> {
  return templateIn(await post(key, body), 202);
}

export async function templateIn(response: Response, status = 200): Promise<Template> {
  const text = await response.text();
  if (response.status !== status) throw new Error(`${response.status} ${text}`);
  return Template.parse(JSON.parse(text));
}

export const read = async (key: string, id: string): Promise<Template> =>
  templateIn(await call(`/templates/${id}`, { bearer: key }));

/** The template once its build is over, or is as far as that. */
export const until = (
  key: string,
  id: string,
  isSo: (template: Template) => boolean = ({ state }) => state !== "building",
): Promise<Template> =>
  vi.waitFor(async () => {
    const template = await read(key, id);
    if (!isSo(template)) throw new Error(JSON.stringify(template));
    return template;
  }, 90_000);

/** A template that is ready, on this host. */
export async function readyTemplate(key: string, body: object = bodyOf()): Promise<Template> {
  const { templateId } = await newTemplate(key, body);
  return until(key, templateId);
}

export async function logs(key: string, id: string, offset?: number): Promise<TemplateLogs> {
  const query = offset === undefined ? "" : `?offset=${offset}`;
  const response = await call(`/templates/${id}/logs${query}`, { bearer: key });
  return TemplateLogs.parse(await response.json());
}

/** What the steps printed. */
export const printed = (entries: TemplateLogEntry[]): string[] =>
  entries.filter(({ stream }) => stream !== "system").map(({ step, line }) => `${step} ${line}`);
