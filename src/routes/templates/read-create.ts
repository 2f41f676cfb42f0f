import { ApiError } from "@svc/contract/errors.ts";
import type { BuildTemplate } from "@svc/contract/host-protocol/templates.ts";
import { templateNamed } from "@svc/contract/vm/create.ts";
import {
  BUILT_IN_TEMPLATES,
  VM_SIZES,
  type VmKind,
  imageOfTemplate,
} from "@svc/contract/vm/machine.ts";
import { CreateTemplate } from "@svc/contract/vm/template.ts";
import type { BuildStep, TemplateStart } from "@svc/contract/vm/template-steps.ts";
import * as z from "zod";
import { parseObject } from "../../body.ts";
import type { AppContext } from "../../context.ts";

/** A build with its defaults, everything about it checked that needs neither org nor host. */
export interface WantedTemplate extends Omit<BuildTemplate, "org" | "from" | "start"> {
  name: string;
  from:
    | { type: "image"; name: string }
    | { type: "template"; id: string }
    | { type: "snapshot"; id: string };
  start: TemplateStart | null;
}

/** What of a body is looked at first: files of the client's machine have a code of their own. */
const WithFiles = z.looseObject({
  compiled: z.looseObject({ localFiles: z.array(z.unknown()).min(1) }),
});

/** Reads POST /templates. Throws the first 400. */
export async function readTemplate(c: AppContext): Promise<WantedTemplate> {
  const body = await parseObject(c, z.looseObject({}));
  if (WithFiles.safeParse(body).success) throw localFiles("compiled.localFiles");
  return wantedOf(await parseObject(c, CreateTemplate));
}

function wantedOf({ name, compiled, skipCache, ...asked }: CreateTemplate): WantedTemplate {
  const kind = asked.kind ?? "sandbox";
  return {
    name,
    kind,
    from: fromOf(compiled.from, kind),
    cpu: asked.cpu ?? VM_SIZES.cpu.default,
    memMb: asked.memMb ?? VM_SIZES.memMb.default,
    diskGb: asked.diskGb ?? VM_SIZES.diskGb.default,
    skipCache: skipCache ?? false,
    steps: compiled.steps.map(stepOf),
    start: compiled.start ?? null,
  };
}

function fromOf(
  { template, snapshot }: CreateTemplate["compiled"]["from"],
  kind: VmKind,
): WantedTemplate["from"] {
  if (snapshot !== undefined) return { type: "snapshot", id: snapshot };
  const named = templateNamed(template, kind);
  if (named.type === "custom") return { type: "template", id: named.id };
  const field = "compiled.from.template";
  if (named.type === "unknown" || BUILT_IN_TEMPLATES[named.name] !== kind)
    throw new ApiError("ValidationError", `${field}: is no template of a ${kind}`, { field });
  return { type: "image", name: imageOfTemplate(named.name) };
}

function stepOf(step: CreateTemplate["compiled"]["steps"][number], at: number): BuildStep {
  const field = `compiled.steps.${at}`;
  if (step.type === "copy") throw localFiles(field);
  if (step.type === "write" && step.encoding === "base64") checkBase64(step.content, field);
  return step;
}

function checkBase64(content: string, at: string): void {
  if (z.base64().safeParse(content).success) return;
  const field = `${at}.content`;
  throw new ApiError("ValidationError", `${field}: is no base64`, { field });
}

function localFiles(field: string): ApiError {
  const text = `${field}: files of the client cannot be sent. Use a write step.`;
  return new ApiError("LocalFilesUnsupported", text, { field });
}
