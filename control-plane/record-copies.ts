import { LIMITS } from "@svc/contract/limits.ts";
import { ask } from "./database.ts";

/** Notes that a host was asked to go on from a record of another host: it fetches that, and has it for a while. */
export async function noteCopy(
  db: D1Database,
  { recordId, hostId }: { recordId: string; hostId: string },
  now: number,
): Promise<void> {
  const sql = `INSERT INTO record_copies (record_id, host_id, asked_at) VALUES (?, ?, ?)
    ON CONFLICT (record_id) DO UPDATE SET host_id = excluded.host_id, asked_at = excluded.asked_at`;
  await ask(db, () => db.prepare(sql).bind(recordId, hostId, now).run());
}

/** The host that was last asked to fetch a record, if it may still have it; else null. */
export async function copyOf(db: D1Database, recordId: string, now: number) {
  const sql = "SELECT host_id FROM record_copies WHERE record_id = ? AND asked_at > ?";
  const since = now - LIMITS.copyKeptMs;
  const row = await ask(db, () =>
    db.prepare(sql).bind(recordId, since).first<{ host_id: string }>(),
  );
  return row?.host_id ?? null;
}

/** Forgets copies that no host has any more. */
export async function forgetCopies(db: D1Database, now: number): Promise<void> {
  const sql = "DELETE FROM record_copies WHERE asked_at <= ?";
  await ask(db, () =>
    db
      .prepare(sql)
      .bind(now - LIMITS.copyKeptMs)
      .run(),
  );
}
