import * as z from "zod";
import { VmKind, VmSize } from "../vm/machine.ts";
import { BuildStep, TemplateStart } from "../vm/template-steps.ts";
import { TEMPLATE_LIMITS } from "../vm/template-limits.ts";
import { TemplateLogEntry } from "../vm/template.ts";

const count = z.int().nonnegative();

/** POST /templates/:templateId: the build, resolved. Idempotent by the id. The bearer names the template. */
export const BuildTemplate = z.object({
  /** The org whose template is built. Step results are shared within an org only. */
  org: z.string(),
  kind: VmKind,
  /** A built-in image, or a snapshot or template that this host has or can fetch. */
  from: z.discriminatedUnion("type", [
    z.object({ type: z.literal("image"), name: z.string().max(100) }),
    z.object({ type: z.literal("snapshot"), id: z.string().max(100) }),
  ]),
  /** Sizes of a build from an image. A build from a snapshot has the sizes of the snapshot. */
  ...VmSize,
  skipCache: z.boolean(),
  steps: z.array(BuildStep).max(TEMPLATE_LIMITS.steps),
  start: TemplateStart.exactOptional(),
});
export type BuildTemplate = z.infer<typeof BuildTemplate>;

/**
 * 200 of GET /templates/:templateId?offset=&waitMs=: how the build stands, and its log from `offset` on. Held until there is
 * something beyond `offset`, or the build is over, for at most `waitMs`.
 */
export const BuildReport = z.object({
  /** `queued`: other builds come first, or there is no capacity yet. */
  state: z.enum(["queued", "building", "ready", "failed"]),
  /** How many steps are done. */
  step: count,
  entries: z.array(TemplateLogEntry).max(TEMPLATE_LIMITS.pageLines),
  nextOffset: count,
  error: z.object({ step: count, message: z.string().max(2000) }).exactOptional(),
  /** Once the template is ready: the sizes of its machines. */
  got: z
    .object({ cpu: z.int(), memMb: z.int(), diskGb: z.int(), sizeBytes: count })
    .exactOptional(),
});
export type BuildReport = z.infer<typeof BuildReport>;

/** Why a host refuses a build: 409 never here, 503 not now. */
export const BuildRefused = z.object({
  error: z.string(),
  code: z.enum(["HostCapabilityMissing", "NoCapacity", "UnknownSnapshot"]),
  hint: z.string().exactOptional(),
});
export type BuildRefused = z.infer<typeof BuildRefused>;

/** The id of a template, also of its record. A heartbeat names the templates that the host has. */
export const TemplateId = z.string().regex(/^tpl_[0-9A-Za-z]{16,32}$/);
