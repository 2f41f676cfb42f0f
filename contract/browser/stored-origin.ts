import * as z from "zod";
import { isOrigin } from "./origin.ts";

const NameValue = z.looseObject({ name: z.string(), value: z.string() });
const KeyPath = {
  keyPath: z.string().exactOptional(),
  keyPathArray: z.array(z.string()).exactOptional(),
};

/** A record of a database. `…Encoded` is Playwright's notation of values that JSON has no words for. */
const StoredRecord = z.looseObject({
  key: z.unknown().optional(),
  keyEncoded: z.unknown().optional(),
  value: z.unknown().optional(),
  valueEncoded: z.unknown().optional(),
});

const StoredIndex = z.looseObject({
  name: z.string(),
  ...KeyPath,
  multiEntry: z.boolean(),
  unique: z.boolean(),
});

const StoredStore = z.looseObject({
  name: z.string(),
  autoIncrement: z.boolean(),
  ...KeyPath,
  records: z.array(StoredRecord),
  indexes: z.array(StoredIndex),
});

const StoredDatabase = z.looseObject({
  name: z.string(),
  version: z.int().positive(),
  stores: z.array(StoredStore),
});

/** A file or folder of the origin private file system. */
const StoredFile = z.looseObject({
  path: z.string().min(1),
  type: z.enum(["file", "directory"]),
  base64: z.string().exactOptional(),
});

/** What a stored state holds for an origin, as Playwright writes it. Unknown fields are accepted. */
export const StoredOrigin = z.looseObject({
  origin: z.string().refine(isOrigin, { error: "an http or https origin, without a path" }),
  localStorage: z.array(NameValue).default([]),
  indexedDB: z.array(StoredDatabase).default([]),
  opfs: z.array(StoredFile).default([]),
});
export type StoredOrigin = z.infer<typeof StoredOrigin>;
