import { LIMITS } from "@svc/contract/limits.ts";
import { ask } from "./database.ts";

const ROOT = "snapshots/";
// As many as R2 lists at once.
const pageKeys = 1000;
/** Behind every name that a file of a record may have. */
const LAST = "~";

/** All objects of one record in the object store. */
export interface StoredRecord {
  /** What their keys begin with. */
  prefix: string;
  org: string;
  /** `rec_…` of a saved machine, `snap_…`, or `tpl_…`. */
  id: string;
}

/** Where to go on looking through the object store; null while that is not due. */
export async function sweepFrom(db: D1Database, now: number): Promise<string | null> {
  const sql = "SELECT after_key, begin_at FROM orphan_sweep";
  const row = await ask(db, () => db.prepare(sql).first<{ after_key: string; begin_at: number }>());
  if (!row) return "";
  return row.begin_at > now ? null : row.after_key;
}

/** Notes how far the sweep has come; null: all was seen, and the next round begins later. */
export async function noteSweep(db: D1Database, next: string | null, now: number): Promise<void> {
  const beginAt = next === null ? now + LIMITS.orphanSweepMs : now;
  const sql = `INSERT INTO orphan_sweep (id, after_key, begin_at) VALUES (1, ?1, ?2)
    ON CONFLICT (id) DO UPDATE SET after_key = ?1, begin_at = ?2`;
  await ask(db, () =>
    db
      .prepare(sql)
      .bind(next ?? "", beginAt)
      .run(),
  );
}

/** The records behind a key, about a hundred of them, and the key behind those; null at the end. */
export async function recordsAfter(
  objects: R2Bucket,
  after: string,
  limit = pageKeys,
): Promise<{ records: StoredRecord[]; next: string | null }> {
  const from = after === "" ? {} : { startAfter: after };
  const page = await ask(objects, () => objects.list({ prefix: ROOT, limit, ...from }));
  const prefixes = [...new Set(page.objects.map(({ key }) => prefixOf(key)))];
  // The last one may go on behind this page.
  const whole = page.truncated && prefixes.length > 1 ? prefixes.slice(0, -1) : prefixes;
  const next = page.truncated ? `${whole.at(-1)}${LAST}` : null;
  return { records: whole.flatMap((prefix) => recordOf(prefix) ?? []), next };
}

const prefixOf = (key: string): string => `${key.split("/").slice(0, 3).join("/")}/`;

function recordOf(prefix: string): StoredRecord | null {
  const [, org, id] = /^snapshots\/([^/]+)\/((?:rec|snap|tpl)_[^/]+)\/$/.exec(prefix) ?? [];
  // Other names are not ours.
  return org === undefined || id === undefined ? null : { prefix, org, id };
}

/**
 * Notes which records are named and which are not. Answers those that have not been named for so long that nothing can
 * name them again.
 */
export async function noteOrphans(
  db: D1Database,
  { named, unnamed }: { named: readonly string[]; unnamed: readonly string[] },
  now: number,
): Promise<string[]> {
  const [, , , due] = await ask(db, () =>
    db.batch<{ prefix: string }>([
      db
        .prepare("DELETE FROM orphans WHERE prefix IN (SELECT value FROM json_each(?))")
        .bind(JSON.stringify(named)),
      // What went by itself.
      db.prepare("DELETE FROM orphans WHERE found_at < ?").bind(now - 4 * LIMITS.orphanKeptMs),
      db
        .prepare(
          "INSERT OR IGNORE INTO orphans (prefix, found_at) SELECT value, ?2 FROM json_each(?1)",
        )
        .bind(JSON.stringify(unnamed), now),
      db
        .prepare(
          `SELECT prefix FROM orphans WHERE found_at <= ?2
           AND prefix IN (SELECT value FROM json_each(?1))`,
        )
        .bind(JSON.stringify(unnamed), now - LIMITS.orphanKeptMs),
    ]),
  );
  return due?.results.map(({ prefix }) => prefix) ?? [];
}

/** Which of these ids the control plane has as snapshots, deleted ones that a host still has among them, or as templates. */
export async function knownIds(db: D1Database, ids: readonly string[]): Promise<Set<string>> {
  const sql = `SELECT id FROM snapshots WHERE id IN (SELECT value FROM json_each(?1))
    UNION SELECT id FROM templates WHERE id IN (SELECT value FROM json_each(?1))`;
  const { results } = await ask(db, () =>
    db.prepare(sql).bind(JSON.stringify(ids)).all<{ id: string }>(),
  );
  return new Set(results.map(({ id }) => id));
}

/** The objects of an orphan are gone. */
export async function forgetOrphan(db: D1Database, prefix: string): Promise<void> {
  await ask(db, () => db.prepare("DELETE FROM orphans WHERE prefix = ?").bind(prefix).run());
}
