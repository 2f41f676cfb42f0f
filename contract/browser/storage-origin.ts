import * as z from "zod";
import { isOrigin } from "./origin.ts";

const NameValue = z.looseObject({ name: z.string(), value: z.string() });
const KeyPath = {
  keyPath: z.string().exactOptional(),
  keyPathArray: z.array(z.string()).exactOptional(),
};

/** A record of a database. `…Encoded` is Playwright's notation of values that JSON has no words for. */
const DatabaseRecord = z.looseObject({
  key: z.unknown().optional(),
  keyEncoded: z.unknown().optional(),
  value: z.unknown().optional(),
  valueEncoded: z.unknown().optional(),
});

const StoreIndex = z.looseObject({
  name: z.string(),
  ...KeyPath,
  multiEntry: z.boolean(),
  unique: z.boolean(),
});

const ObjectStore = z.looseObject({
  name: z.string(),
  autoIncrement: z.boolean(),
  ...KeyPath,
  records: z.array(DatabaseRecord),
  indexes: z.array(StoreIndex),
});

const Database = z.looseObject({
  name: z.string(),
  version: z.int().positive(),
  stores: z.array(ObjectStore),
});

/** A file or folder of the origin private file system. */
const OriginFile = z.looseObject({
  path: z.string().min(1),
  type: z.enum(["file", "directory"]),
  base64: z.string().exactOptional(),
});

/** The storages of one origin in a storage state, as Playwright writes them. Unknown fields are accepted. */
export const StorageOrigin = z.looseObject({
  origin: z.string().refine(isOrigin, { error: "an http or https origin, without a path" }),
  localStorage: z.array(NameValue).default([]),
  indexedDB: z.array(Database).default([]),
  opfs: z.array(OriginFile).default([]),
});
export type StorageOrigin = z.infer<typeof StorageOrigin>;
