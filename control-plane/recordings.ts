import { LIMITS } from "@svc/contract/limits.ts";
import { CLUSTER_HEAD_BYTES, readPartName } from "@svc/contract/host-protocol/recording-part.ts";
import { BATCH, inBatches } from "./batches.ts";
import { ask } from "./database.ts";
import { deleteObjects, recordingKey } from "./objects.ts";
import { type Piece, type Recording, type StoredPart, joined, lengthOf } from "./recording-file.ts";

/** The recording of a desktop. */
export interface RecordingName {
  orgId: string;
  sandboxId: string;
}

/** The recording of a key; null for a key of anything else. */
export function recordingOfKey(key: string): RecordingName | null {
  const [, orgId, sandboxId] = /^recordings\/([^/]+)\/([^/]+)$/.exec(key) ?? [];
  return orgId === undefined || sandboxId === undefined ? null : { orgId, sandboxId };
}

const folderOf = ({ orgId, sandboxId }: RecordingName): string =>
  `${recordingKey(orgId, sandboxId)}/`;

/** Notes that a desktop is recorded, in the size that its screen has at first. */
export async function expectRecording(
  db: D1Database,
  { orgId, sandboxId }: RecordingName,
  { width, height, keepMs }: { width: number; height: number; keepMs: number },
  now: number,
): Promise<void> {
  await ask(db, () =>
    db
      .prepare(
        `INSERT INTO recordings (sandbox_id, org_id, width, height, keep_ms, keep_until)
         VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
      )
      .bind(sandboxId, orgId, width, height, keepMs, now + keepMs)
      .run(),
  );
}

/** The desktop was never made. */
export async function forgetRecording(db: D1Database, sandboxId: string): Promise<void> {
  await ask(db, () =>
    db.prepare("DELETE FROM recordings WHERE sandbox_id = ?").bind(sandboxId).run(),
  );
}

/** A part is about to come: the recording is kept from now on. False when there is no such recording any more. */
export async function keepRecording(
  db: D1Database,
  { orgId, sandboxId }: RecordingName,
  now: number,
): Promise<boolean> {
  const { meta } = await ask(db, () =>
    db
      .prepare(
        "UPDATE recordings SET keep_until = ? + keep_ms WHERE sandbox_id = ? AND org_id = ? AND keep_until > ?",
      )
      .bind(now, sandboxId, orgId, now)
      .run(),
  );
  return meta.changes > 0;
}

/** A recording of this org, with an empty one where no part is stored yet; null when there is none. */
export async function readRecording(
  db: D1Database,
  objects: R2Bucket,
  { orgId, sandboxId }: RecordingName,
  now: number,
): Promise<Recording | null> {
  const size = await ask(db, () =>
    db
      .prepare(
        "SELECT width, height FROM recordings WHERE sandbox_id = ? AND org_id = ? AND keep_until > ?",
      )
      .bind(sandboxId, orgId, now)
      .first<{ width: number; height: number }>(),
  );
  if (!size) return null;
  const parts = await partsOf(objects, folderOf({ orgId, sandboxId }));
  return joined(parts, size);
}

async function partsOf(objects: R2Bucket, prefix: string): Promise<StoredPart[]> {
  const parts: StoredPart[] = [];
  let cursor: string | undefined;
  do {
    const from = cursor;
    const page = await ask(objects, () =>
      objects.list({ prefix, ...(from !== undefined && { cursor: from }) }),
    );
    for (const { key, size } of page.objects) {
      const part = readPartName(key.slice(prefix.length));
      if (part && size >= CLUSTER_HEAD_BYTES) parts.push({ ...part, key, bytes: size });
    }
    cursor = page.truncated ? page.cursor : undefined;
  } while (cursor !== undefined);
  return parts;
}

/** Bytes of a recording, object after object as they are read. */
export function recordingBytes(
  objects: R2Bucket,
  { pieces }: Recording,
  { offset, length }: { offset: number; length: number },
): ReadableStream<Uint8Array> {
  const { readable, writable } = new FixedLengthStream(length);
  void (async () => {
    let at = 0;
    for (const piece of pieces) {
      const from = Math.max(0, offset - at);
      const bytes = Math.min(lengthOf(piece), offset + length - at) - from;
      at += lengthOf(piece);
      if (bytes > 0) await send(objects, piece, { from, bytes }, writable);
    }
    await writable.close();
  })().catch((error: unknown) => writable.abort(error).catch(() => null));
  return readable;
}

async function send(
  objects: R2Bucket,
  piece: Piece,
  { from, bytes }: { from: number; bytes: number },
  into: WritableStream<Uint8Array>,
): Promise<void> {
  if ("made" in piece) {
    const writer = into.getWriter();
    await writer.write(piece.made.subarray(from, from + bytes));
    writer.releaseLock();
    return;
  }
  const range = { offset: piece.offset + from, length: bytes };
  const object = await objects.get(piece.key, { range });
  if (!object) throw new Error("a part of the recording has gone");
  await object.body.pipeTo(into, { preventClose: true });
}

/** Deletes the recordings that were kept long enough. Answers how many. */
export async function reapRecordings(
  db: D1Database,
  objects: R2Bucket,
  now: number,
): Promise<number> {
  return inBatches(() => reapSome(db, objects, now));
}

async function reapSome(db: D1Database, objects: R2Bucket, now: number): Promise<number> {
  // A part that was asked for before may still come.
  const until = now - LIMITS.hostObjectUrlMs;
  const { results } = await ask(db, () =>
    db
      .prepare(
        "SELECT sandbox_id AS sandboxId, org_id AS orgId FROM recordings WHERE keep_until <= ? LIMIT ?",
      )
      .bind(until, BATCH)
      .all<RecordingName>(),
  );
  for (const name of results) {
    // The objects first: nothing would name them without the row.
    await deleteObjects(objects, folderOf(name));
    await forgetRecording(db, name.sandboxId);
  }
  return results.length;
}
