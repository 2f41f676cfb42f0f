import * as z from "zod";
import { LIMITS } from "../limits.ts";
import { openMap } from "../open-map.ts";
import { LifecycleWanted } from "./lifecycle.ts";
import { MountPath } from "./mount-path.ts";
import {
  BUILT_IN_TEMPLATES,
  Envs,
  Isolation,
  Resolution,
  TEXTS,
  VM_SIZES,
  VmKind,
} from "./machine.ts";

/** A size that may be asked for. With `isolation: "shared"` the maximum is lower (document 2, Limits). */
const size = ({ least, most }: { least: number; most: number }) =>
  z.int().min(least).max(most).nullish();

const label = z.string().max(1024);
/** Opaque labels: at most 1024 characters a key and a value (document 2). */
export const Labels = openMap(label, label, TEXTS);

// Any id may be asked for: a volume of another org is unknown.
const Mount = z.object({ volumeId: z.string().min(1), path: MountPath });
const isDistinct = (texts: string[]): boolean => new Set(texts).size === texts.length;
const Mounts = z
  .array(Mount)
  .max(LIMITS.volumesMounted)
  .refine((mounts) => isDistinct(mounts.map(({ path }) => path)), { error: "the same path twice" })
  .refine((mounts) => isDistinct(mounts.map(({ volumeId }) => volumeId)), {
    error: "the same volume twice",
  });

/** An idle window: 1000 ms or more. Above the plan's maximum it is clamped, not refused. */
const timeoutMs = z.number().min(LIMITS.idleLeastMs).refine(Number.isInteger, "no whole number");

/**
 * POST /sandboxes as it is sent: every field is optional, null is the default, unknown fields are
 * ignored. Source: document 2, Sandbox create request. Rules across fields are in `resolve.ts`.
 */
export const CreateSandbox = z.object({
  kind: VmKind.nullish(),
  template: z.string().max(200).nullish(),
  fromSnapshot: z.string().min(1).max(200).nullish(),
  cpu: size(VM_SIZES.cpu),
  isolation: Isolation.nullish(),
  memMb: size(VM_SIZES.memMb),
  diskGb: size(VM_SIZES.diskGb),
  envs: Envs.nullish(),
  metadata: Labels.nullish(),
  timeoutMs: timeoutMs.nullish(),
  lifecycle: LifecycleWanted.nullish(),
  resolution: Resolution.nullish(),
  record: z.boolean().nullish(),
  volumes: Mounts.nullish(),
});
export type CreateSandbox = z.infer<typeof CreateSandbox>;

/** The source that a template's name stands for. */
export type TemplateName =
  | { type: "builtIn"; name: keyof typeof BUILT_IN_TEMPLATES }
  | { type: "custom"; id: string }
  | { type: "unknown" };

/** Reads a template's name; a blank name is the default of the kind. */
export function templateNamed(text: string | null | undefined, kind: VmKind): TemplateName {
  const name = text?.trim() || (kind === "sandbox" ? "base" : "default");
  if (name.startsWith("tpl_")) return { type: "custom", id: name };
  return isBuiltIn(name) ? { type: "builtIn", name } : { type: "unknown" };
}

const isBuiltIn = (name: string): name is keyof typeof BUILT_IN_TEMPLATES =>
  Object.hasOwn(BUILT_IN_TEMPLATES, name);
