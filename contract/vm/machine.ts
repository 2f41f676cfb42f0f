import { openMap } from "../open-map.ts";
import * as z from "zod";

/** The two kinds of machine (document 2). */
export const VmKind = z.enum(["sandbox", "desktop"]);
export type VmKind = z.infer<typeof VmKind>;

/** `dedicated`: a microVM of its own; `hardened`: a microVM without any network; `shared`: a part of a microVM (document 2). */
export const Isolation = z.enum(["dedicated", "hardened", "shared"]);
export type Isolation = z.infer<typeof Isolation>;

/** The built-in templates and the kind each one makes (document 2, Sandbox create request). */
export const BUILT_IN_TEMPLATES = {
  base: "sandbox",
  default: "desktop",
  workstation: "desktop",
  office: "desktop",
  code: "desktop",
} as const satisfies Record<string, VmKind>;

/** Built-in templates whose image has another name than they. */
const IMAGES: Partial<Record<string, string>> = { default: "desktop", workstation: "desktop" };

/** The image that a machine of a built-in template begins with. A host may lack it. */
export const imageOfTemplate = (name: string): string => IMAGES[name] ?? name;

/** The largest screen of a desktop (decisions). */
export const SCREEN_MOST = { width: 3840, height: 2160 } as const;

/** The screen of a desktop that asks for none (document 2). */
export const SCREEN_DEFAULT = "1280x720";

/** A `1280x720` as numbers. */
export function sizeOfScreen(resolution: string): { width: number; height: number } {
  const [width = 0, height = 0] = resolution.split("x").map(Number);
  return { width, height };
}

function isPossible(resolution: string): boolean {
  const { width, height } = sizeOfScreen(resolution);
  return width <= SCREEN_MOST.width && height <= SCREEN_MOST.height;
}

/** The size of a desktop's screen, `1280x720`. */
export const Resolution = z
  .string()
  .regex(/^[1-9]\d{1,4}x[1-9]\d{1,4}$/, "must be <width>x<height>")
  .refine(isPossible, `must be at most ${SCREEN_MOST.width}x${SCREEN_MOST.height}`);

/** Sizes of a machine that may be asked for (document 2, Limits). */
export const VM_SIZES = {
  cpu: { least: 1, most: 8, default: 2 },
  memMb: { least: 1, most: 16_384, default: 2_048 },
  diskGb: { least: 1, most: 20, default: 4 },
} as const;

/** Maxima with `isolation: "shared"` (document 2, Limits). */
export const SHARED_SIZES = {
  cpu: { most: 4 },
  memMb: { most: 2_048, default: 512 },
} as const;

const within = ({ least, most }: { least: number; most: number }) => z.int().min(least).max(most);

/** Fields of a size, in range. */
export const VmSize = {
  cpu: within(VM_SIZES.cpu),
  memMb: within(VM_SIZES.memMb),
  diskGb: within(VM_SIZES.diskGb),
};

const label = z.string().max(1024);
/** The JSON Schema of a map of texts. */
export const TEXTS = {
  propertyNames: { maxLength: 1024 },
  additionalProperties: { type: "string", maxLength: 1024 },
};

/** The session's environment: at most 1024 characters a key and a value (document 2). */
export const Envs = openMap(label.regex(/^[^=\0]+$/), label.regex(/^[^\0]*$/), TEXTS);

/** Whether processors and memory are those of a whole machine or of a share of one (document 2, create response). */
export const Enforcement = z.object({
  cpu: z.enum(["vm", "weight"]),
  memMb: z.enum(["vm", "cgroup"]),
});
export type Enforcement = z.infer<typeof Enforcement>;
