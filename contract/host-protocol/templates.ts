import * as z from "zod";
import { VmKind, VmSize } from "../vm/machine.ts";
import { BuildStep, TemplateStart } from "../vm/template-steps.ts";
import { TEMPLATE_LIMITS } from "../vm/template-limits.ts";
import { TemplateLogEntry } from "../vm/template.ts";

const count = z.int().nonnegative();

/** POST /templates/:templateId: the build, resolved. Idempotent by the id. The bearer names the template. */
export const BuildTemplate = z.object({
  /** Layers of one org are never another one's. */
  org: z.string(),
  kind: VmKind,
  /** A built-in image, or a snapshot or template that this host has or can fetch. */
  from: z.discriminatedUnion("type", [
    z.object({ type: z.literal("image"), name: z.string().max(100) }),
    z.object({ type: z.literal("snapshot"), id: z.string().max(100) }),
  ]),
  /** Of a build from an image; what comes from a snapshot has its sizes. */
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
  /** `queued`: others are built before it, or there is no room yet. */
  state: z.enum(["queued", "building", "ready", "failed"]),
  /** Steps that are done. */
  step: count,
  entries: z.array(TemplateLogEntry).max(TEMPLATE_LIMITS.pageLines),
  nextOffset: count,
  error: z.object({ step: count, message: z.string().max(2000) }).exactOptional(),
  /** Once it is ready: what machines of it get. */
  got: z
    .object({ cpu: z.int(), memMb: z.int(), diskGb: z.int(), sizeBytes: count })
    .exactOptional(),
});
export type BuildReport = z.infer<typeof BuildReport>;

/** Why a host refuses a build: 409 it cannot ever, 503 not now. */
export const BuildRefused = z.object({
  error: z.string(),
  code: z.enum(["HostCapabilityMissing", "NoCapacity", "UnknownSnapshot"]),
  hint: z.string().exactOptional(),
});
export type BuildRefused = z.infer<typeof BuildRefused>;

/** What the records of templates are called; a host names those that it has in its heartbeat. */
export const TemplateId = z.string().regex(/^tpl_[0-9A-Za-z]{16,32}$/);
