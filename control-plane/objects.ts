import type { ObjectName } from "@svc/contract/host-protocol/objects.ts";
import { ApiError } from "@svc/contract/errors.ts";
import { ask } from "./database.ts";
import { replayKey } from "./replays.ts";

/** Where the recording of a desktop lies: no object, but what its parts are joined to when it is read. */
export const recordingKey = (org: string, sandbox: string): string =>
  `recordings/${org}/${sandbox}`;

/** Where an object of a host lies. */
export function objectKey(object: ObjectName): string {
  switch (object.purpose) {
    case "replay":
      return replayKey(object.org, object.session);
    case "recording":
      return `${recordingKey(object.org, object.sandbox)}/${object.file}`;
    case "snapshot":
      return `snapshots/${object.org}/${object.snapshot}/${object.file}`;
    case "volume":
      return `${object.volume}/${object.file}`;
    case "template":
      return `templates/${object.template}/${object.file}`;
  }
}

/** Stores an object. Throws ObjectChanged when the stored object is not the one that the condition names. */
export async function storeWhole(
  objects: R2Bucket,
  { key, ifEtag }: { key: string; ifEtag?: string | null },
  body: ReadableStream,
): Promise<R2Object> {
  const onlyIf = ifEtag === undefined ? {} : { onlyIf: conditionOf(ifEtag) };
  const stored = await ask(objects, () => objects.put(key, body, onlyIf));
  if (stored) return stored;
  throw new ApiError(
    "ObjectChanged",
    "Another object was stored under this name first. Read it again, then retry.",
  );
}

/** A condition as headers say it: only headers know "any". */
const conditionOf = (etag: string | null): Headers =>
  new Headers(etag === null ? { "if-none-match": "*" } : { "if-match": `"${etag}"` });

/** A part of a larger object: its number from 1, and what its PUT answered. */
export interface StoredPart {
  partNumber: number;
  etag: string;
}

/** Begins an object of several parts and answers the id of its upload. */
export async function beginUpload(objects: R2Bucket, key: string): Promise<string> {
  return (await ask(objects, () => objects.createMultipartUpload(key))).uploadId;
}

/** Stores one part. Throws UploadVoid when its upload is over. */
export async function storePart(
  objects: R2Bucket,
  { key, upload, number }: { key: string; upload: string; number: number },
  body: ReadableStream,
): Promise<StoredPart> {
  return inUpload(objects, () =>
    objects.resumeMultipartUpload(key, upload).uploadPart(number, body),
  );
}

/** Makes the parts one object. Throws UploadVoid when one is missing or the upload is over. */
export async function completeUpload(
  objects: R2Bucket,
  { key, upload }: { key: string; upload: string },
  parts: StoredPart[],
): Promise<R2Object> {
  return inUpload(objects, () => objects.resumeMultipartUpload(key, upload).complete(parts));
}

// R2: no such upload, a part that is missing or too small, parts out of order.
const VOID = /\((10011|10024|10025|10048)\)/;

function inUpload<T>(objects: R2Bucket, act: () => Promise<T>): Promise<T> {
  return ask(objects, () =>
    act().catch((error: unknown) => {
      if (!VOID.test(String(error))) throw error;
      throw new ApiError("UploadVoid", "The upload is over, or lacks a part. Begin a new one.");
    }),
  );
}

/** Deletes all objects whose keys begin like this. */
export async function deleteObjects(objects: R2Bucket, prefix: string): Promise<void> {
  for (;;) {
    const { objects: some, truncated } = await ask(objects, () => objects.list({ prefix }));
    if (some.length > 0) await ask(objects, () => objects.delete(some.map(({ key }) => key)));
    if (!truncated) return;
  }
}
