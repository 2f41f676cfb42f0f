import type { ObjectName } from "@svc/contract/host-protocol/objects.ts";
import { RECORD_MANIFEST } from "@svc/contract/host-protocol/vm-states.ts";
import * as z from "zod";
import { FILES } from "../qemu/command.ts";
import { SnapshotRecord } from "./record.ts";

/** Counts up when hosts of before can no longer read what lies in the object store. */
const BUNDLE_VERSION = 1;
/** Written last: what has none is no record. */
export const MANIFEST = RECORD_MANIFEST;
/** The most layers of a disk that a bundle may have. */
const MOST_LAYERS = 12;

/** A file by its own name, and its size unpacked; it lies there as `<name>.zst`. */
const PackedFile = z.object({ name: z.string(), bytes: z.int().nonnegative() });
export type PackedFile = z.infer<typeof PackedFile>;

/** A template as it lies in the object store. */
export const TemplateBundle = z.object({
  version: z.literal(BUNDLE_VERSION),
  key: z.string(),
  digest: z.string(),
  life: z.object({ word: z.string(), generation: z.int() }),
  files: z.array(PackedFile),
});
export type TemplateBundle = z.infer<typeof TemplateBundle>;

/** A record as it lies in the object store: another host needs nothing else but the image and, of a boot, the template. */
export const Bundle = z.object({
  version: z.literal(BUNDLE_VERSION),
  record: SnapshotRecord,
  files: z.array(PackedFile),
  /** Of its disk, the newest first. */
  layers: z.array(PackedFile).min(1).max(MOST_LAYERS),
  /** The template of a machine that had an owner: it belongs to this record. Null where it is anybody's, or none. */
  template: TemplateBundle.nullable(),
});
export type Bundle = z.infer<typeof Bundle>;

export const VERSION = { version: BUNDLE_VERSION } as const;
export const TEMPLATE_FILES: string[] = [FILES.memory, FILES.state, FILES.disk];
/** A whole stream loads beside the archive it was booted with. */
export const AGENT_FILE = "agent";
export const layerName = (index: number): string => `layer-${index}`;
export const ownTemplateName = (name: string): string => `template-${name}`;
export const packedName = (name: string): string => `${name}.zst`;

/** A place in the object store that holds several files. */
export type Place = (file: string) => ObjectName;

export const recordPlace =
  (org: string, recordId: string): Place =>
  (file) => ({ purpose: "snapshot", org, snapshot: recordId, file });

export const templatePlace =
  ({ key, digest }: { key: string; digest: string }): Place =>
  (file) => ({ purpose: "template", template: `${key}-${digest}`, file });

/** Every name that a file of a record may have there: what is removed need not be read first. */
export const recordFiles = (): string[] => [
  MANIFEST,
  ...[
    FILES.pages,
    FILES.state,
    FILES.stream,
    AGENT_FILE,
    ...TEMPLATE_FILES.map(ownTemplateName),
    ...Array.from({ length: MOST_LAYERS }, (_, index) => layerName(index)),
  ].map(packedName),
];
