import * as z from "zod";
import { LIMITS } from "../limits.ts";
import { VolumeId } from "../vm/volume.ts";

const part = z.string().regex(/^[A-Za-z0-9_-][A-Za-z0-9._-]{0,299}$/, "is no name");

/** The name of an object of a host. Its key in the store follows from this alone. */
export const ObjectName = z.discriminatedUnion("purpose", [
  z.object({ purpose: z.literal("replay"), org: part, session: part }),
  z.object({ purpose: z.literal("recording"), org: part, sandbox: part, file: part }),
  z.object({ purpose: z.literal("snapshot"), org: part, snapshot: part, file: part }),
  z.object({ purpose: z.literal("volume"), volume: VolumeId, file: part }),
  z.object({ purpose: z.literal("template"), template: part, file: part }),
]);
export type ObjectName = z.infer<typeof ObjectName>;

/** POST /internal/objects. */
export const AskObject = z.object({
  object: ObjectName,
  /** Size of the object to store. Absent: the object is to be read. */
  sizeBytes: z.int().nonnegative().max(LIMITS.objectBytes).exactOptional(),
  /**
   * It is stored only while what lies there has this `etag`, or nothing lies there when it is null. Of an object of one PUT:
   * that is 412 otherwise.
   */
  ifEtag: z.string().max(200).nullable().exactOptional(),
  /** Removes the object. It is gone with the answer, whether it was there or not. */
  delete: z.literal(true).exactOptional(),
});
export type AskObject = z.infer<typeof AskObject>;

/** 200 of POST /internal/objects: signed URLs that need no bearer, for `expiresInSeconds`; none after a removal. */
export const ObjectUrls = z.object({
  expiresInSeconds: z.int().positive(),
  /** Reads the object; ranges are served. */
  get: z.string().exactOptional(),
  sizeBytes: z.int().nonnegative().exactOptional(),
  /** Of the object to read; another one once the object is stored again. */
  etag: z.string().exactOptional(),
  /** Stores the object at once. */
  put: z.string().exactOptional(),
  /** Store the object in parts, each of exactly so many bytes, in any order. */
  parts: z.array(z.object({ url: z.string(), bytes: z.int().positive() })).exactOptional(),
  /** POST `CompleteObject` here when all parts are there. */
  complete: z.string().exactOptional(),
});
export type ObjectUrls = z.infer<typeof ObjectUrls>;

/** 200 of a PUT to the object store. */
export const ObjectStored = z.object({ etag: z.string() });

/** POST to `complete`: what the PUT of each part answered, in the order of the parts. */
export const CompleteObject = z.object({ etags: z.array(z.string().max(200)).min(1).max(10_000) });
