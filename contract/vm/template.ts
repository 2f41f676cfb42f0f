import * as z from "zod";
import { VM_SIZES, VmKind } from "./machine.ts";
import { TEMPLATE_LIMITS } from "./template-limits.ts";
import { TemplateStart, TemplateStep } from "./template-steps.ts";

const count = z.int().nonnegative();
const size = ({ least, most }: { least: number; most: number }) =>
  z.int().min(least).max(most).nullish();
const name = z.string().min(1).max(200);

/** The base of a build: a built-in template, a template of the org, or a snapshot of the org. */
const From = z
  .strictObject({ template: name.exactOptional(), snapshot: name.exactOptional() })
  .refine(
    ({ template, snapshot }) => (template === undefined) !== (snapshot === undefined),
    "needs one of template, snapshot",
  );

/** POST /templates: the compiled form of a builder. Unknown top-level fields are ignored, all others refused. */
export const CreateTemplate = z.object({
  name: z.string().trim().min(1).max(TEMPLATE_LIMITS.nameCharacters),
  kind: VmKind.nullish(),
  cpu: size(VM_SIZES.cpu),
  memMb: size(VM_SIZES.memMb),
  diskGb: size(VM_SIZES.diskGb),
  /** Runs every step anew, also steps whose results are kept. */
  skipCache: z.boolean().nullish(),
  compiled: z.strictObject({
    from: From,
    steps: z.array(TemplateStep).max(TEMPLATE_LIMITS.steps),
    start: TemplateStart.nullish(),
    /** `LocalFilesUnsupported` unless it is empty. */
    localFiles: z.array(z.unknown()).nullish(),
  }),
});
export type CreateTemplate = z.infer<typeof CreateTemplate>;

/** State of a template: a failed one holds nothing (decisions). */
export const TemplateState = z.enum(["building", "ready", "failed"]);
export type TemplateState = z.infer<typeof TemplateState>;

/** A custom template (decisions, Templates). A built-in template has a name for an id, and no steps. */
export const Template = z.object({
  templateId: z.string(),
  name: z.string(),
  kind: VmKind,
  state: TemplateState,
  cpu: z.int(),
  memMb: z.int(),
  diskGb: z.int(),
  /** How many of the `steps` are done. */
  step: count,
  steps: count,
  error: z.object({ step: count, message: z.string() }).exactOptional(),
  createdAt: z.iso.datetime(),
  readyAt: z.iso.datetime().exactOptional(),
});
export type Template = z.infer<typeof Template>;

/** A template that comes with the service. */
export const BuiltInTemplate = Template.omit({ createdAt: true }).extend({
  builtin: z.literal(true),
});
export type BuiltInTemplate = z.infer<typeof BuiltInTemplate>;

/** 200 of GET /templates: the built-in ones, then the org's, newest first. */
export const TemplateList = z.object({ templates: z.array(z.union([BuiltInTemplate, Template])) });
export type TemplateList = z.infer<typeof TemplateList>;

/** A line of a build's log. */
export const TemplateLogEntry = z.object({
  /** Milliseconds since the epoch. */
  ts: z.number(),
  /** The number of the step, from 1; 0 before the first step; one more than there are steps for `start` and what follows. */
  step: count,
  /** `system`: a line of the build itself. */
  stream: z.enum(["stdout", "stderr", "system"]),
  line: z.string(),
});
export type TemplateLogEntry = z.infer<typeof TemplateLogEntry>;

/** 200 of GET /templates/:id/logs: from `offset` on, or from the oldest line that is kept. */
export const TemplateLogs = z.object({
  entries: z.array(TemplateLogEntry),
  nextOffset: count,
  state: TemplateState,
});
export type TemplateLogs = z.infer<typeof TemplateLogs>;
