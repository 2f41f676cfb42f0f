import type { ObjectName } from "@svc/contract/host-protocol/objects.ts";
import { RECORD_MANIFEST } from "@svc/contract/host-protocol/vm-states.ts";
import * as z from "zod";
import { FILES } from "../driver.ts";
import { StoredLife } from "../life.ts";
import { MachineRecord } from "./record.ts";

/** Counts up when older hosts can no longer read what lies in the object store. */
const BUNDLE_VERSION = 1;
/** Written last: without it there is no record. */
export const MANIFEST = RECORD_MANIFEST;
/** The most layers of a disk that a bundle may have. */
const MOST_LAYERS = 12;

/** A file by its own name, and its size unpacked; it lies there as `<name>.zst`. */
const PackedFile = z.object({ name: z.string(), bytes: z.int().nonnegative() });
export type PackedFile = z.infer<typeof PackedFile>;

/** A golden machine as it lies in the object store. */
export const GoldenBundle = z.object({
  version: z.literal(BUNDLE_VERSION),
  key: z.string(),
  digest: z.string(),
  life: StoredLife,
  files: z.array(PackedFile),
});
export type GoldenBundle = z.infer<typeof GoldenBundle>;

/**
 * A record as it lies in the object store: another host needs nothing else but the image and, where it was booted and belongs
 * to nobody, the golden machine. The object store calls a golden machine `template`, here and in the names of its objects.
 */
export const Bundle = z.object({
  version: z.literal(BUNDLE_VERSION),
  record: MachineRecord,
  files: z.array(PackedFile),
  /** Of its disk, the newest first. */
  layers: z.array(PackedFile).min(1).max(MOST_LAYERS),
  /** The golden machine, where it was made of an org's machine. Null where it belongs to nobody, or there is none. */
  template: GoldenBundle.nullable(),
});
export type Bundle = z.infer<typeof Bundle>;

export const VERSION = { version: BUNDLE_VERSION } as const;
export const GOLDEN_FILES: string[] = [FILES.memory, FILES.state, FILES.disk];
/** The initrd: a whole stream loads beside the initrd that its machine was booted with. */
export const AGENT_FILE = "agent";
export const layerName = (index: number): string => `layer-${index}`;
export const ownGoldenName = (name: string): string => `template-${name}`;
export const packedName = (name: string): string => `${name}.zst`;

/** Names the files that belong together in the object store. */
export type ObjectFolder = (file: string) => ObjectName;

export const recordFolder =
  (org: string, recordId: string): ObjectFolder =>
  (file) => ({ purpose: "snapshot", org, snapshot: recordId, file });

export const goldenFolder =
  ({ key, digest }: { key: string; digest: string }): ObjectFolder =>
  (file) => ({ purpose: "template", template: `${key}-${digest}`, file });

/** Every name that a file of a record may have there: what is removed need not be read first. */
export const recordFiles = (): string[] => [
  MANIFEST,
  ...[
    FILES.pages,
    FILES.state,
    FILES.stream,
    AGENT_FILE,
    ...GOLDEN_FILES.map(ownGoldenName),
    ...Array.from({ length: MOST_LAYERS }, (_, index) => layerName(index)),
  ].map(packedName),
];
