import { LIMITS } from "@svc/contract/limits.ts";
import { BATCH, inBatches } from "./batches.ts";
import { ask } from "./database.ts";

/** Notes that no row names an object any more. */
export async function discard(db: D1Database, key: string, now: number): Promise<void> {
  await ask(db, () =>
    db
      .prepare("INSERT OR IGNORE INTO discarded_objects (object_key, discarded_at) VALUES (?, ?)")
      .bind(key, now)
      .run(),
  );
}

/** Deletes what was discarded so long ago that no signed URL can name it any more. Answers how many. */
export async function reapDiscarded(
  db: D1Database,
  objects: R2Bucket,
  now: number,
): Promise<number> {
  return inBatches(() => reapSome(db, objects, now));
}

async function reapSome(db: D1Database, objects: R2Bucket, now: number): Promise<number> {
  const { results } = await ask(db, () =>
    db
      .prepare("SELECT object_key FROM discarded_objects WHERE discarded_at <= ? LIMIT ?")
      .bind(now - LIMITS.hostObjectUrlMs, BATCH)
      .all<{ object_key: string }>(),
  );
  const keys = results.map((row) => row.object_key);
  if (keys.length === 0) return 0;
  // The object first: a key that was forgotten before its object would stay for ever.
  await ask(objects, () => objects.delete(keys));
  const marks = keys.map(() => "?").join(", ");
  await ask(db, () =>
    db
      .prepare(`DELETE FROM discarded_objects WHERE object_key IN (${marks})`)
      .bind(...keys)
      .run(),
  );
  return keys.length;
}
