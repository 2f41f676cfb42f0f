import type { RecordingReport } from "@svc/contract/host-protocol/recording.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { PLANS } from "@svc/contract/plans.ts";
import { BATCH, inBatches } from "./batches.ts";
import { ask } from "./database.ts";

/** How long a replay is kept that nobody has noted: as on the smallest plan. */
const UNEXPECTED_KEPT_MS = PLANS.free.replayDays * 86_400_000;
/** Where the replay of a session lies: gzip newline-delimited JSON, stored without Content-Encoding. */
export const replayKey = (orgId: string, sessionId: string): string =>
  `replays/${orgId}/${sessionId}.ndjson.gz`;

interface ReplayRow {
  state: RecordingReport["state"];
  pendingUntil: number | null;
  keepUntil: number | null;
}

/** A session that will have a replay. Times are ms. */
export interface ExpectedReplay {
  id: string;
  orgId: string;
  /** When the session ends at the latest. */
  endsAt: number;
  keepMs: number;
}

/** Notes that a session will have a replay. */
export async function expectReplay(
  db: D1Database,
  { id, orgId, endsAt, keepMs }: ExpectedReplay,
  now: number,
): Promise<void> {
  await ask(db, () =>
    db
      .prepare(
        `INSERT INTO replays (session_id, org_id, state, updated_at, pending_until, keep_until)
         VALUES (?1, ?2, 'pending', ?3, ?4, ?5)
         ON CONFLICT (session_id) DO UPDATE SET pending_until = ?4, keep_until = ?5`,
      )
      .bind(id, orgId, now, endsAt + LIMITS.replayPendingMs, endsAt + keepMs)
      .run(),
  );
}

/** The session was never placed. */
export async function forgetReplay(db: D1Database, sessionId: string): Promise<void> {
  await ask(db, () => db.prepare("DELETE FROM replays WHERE session_id = ?").bind(sessionId).run());
}

/** Notes what a host says of a recording. A replay that is ready stays ready. */
export async function noteRecording(
  db: D1Database,
  session: { id: string; orgId: string },
  report: RecordingReport,
  now: number,
): Promise<void> {
  const { state, sizeBytes = null, events = null } = report;
  await ask(db, () =>
    db
      .prepare(
        `INSERT INTO replays (session_id, org_id, state, size_bytes, events, updated_at, keep_until)
         VALUES (?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT (session_id) DO UPDATE SET state = excluded.state,
           size_bytes = excluded.size_bytes, events = excluded.events, updated_at = excluded.updated_at
         WHERE replays.state <> 'ready'`,
      )
      .bind(session.id, session.orgId, state, sizeBytes, events, now, now + UNEXPECTED_KEPT_MS)
      .run(),
  );
}

/**
 * What is known of the replay of a session of this org; null when nothing is. One that was waited for too long, or kept long
 * enough, is none.
 */
export async function replayState(
  db: D1Database,
  { orgId, sessionId }: { orgId: string; sessionId: string },
  now: number,
): Promise<RecordingReport["state"] | null> {
  const row = await ask(db, () =>
    db
      .prepare(
        `SELECT state, pending_until AS pendingUntil, keep_until AS keepUntil FROM replays
         WHERE session_id = ? AND org_id = ?`,
      )
      .bind(sessionId, orgId)
      .first<ReplayRow>(),
  );
  if (!row) return null;
  const { state, pendingUntil, keepUntil } = row;
  const until = state === "pending" ? pendingUntil : keepUntil;
  return until !== null && until <= now ? "none" : state;
}

/** Deletes the replays that were kept long enough. Answers how many. */
export async function reapReplays(db: D1Database, objects: R2Bucket, now: number): Promise<number> {
  return inBatches(() => reapSome(db, objects, now));
}

async function reapSome(db: D1Database, objects: R2Bucket, now: number): Promise<number> {
  const { results } = await ask(db, () =>
    db
      .prepare(
        `SELECT session_id AS id, org_id AS orgId FROM replays WHERE keep_until <= ? LIMIT ?`,
      )
      .bind(now, BATCH)
      .all<{ id: string; orgId: string }>(),
  );
  if (results.length === 0) return 0;
  // The object first: nothing would name it without its row.
  await ask(objects, () => objects.delete(results.map(({ id, orgId }) => replayKey(orgId, id))));
  const ids = JSON.stringify(results.map(({ id }) => id));
  await ask(db, () =>
    db
      .prepare("DELETE FROM replays WHERE session_id IN (SELECT value FROM json_each(?))")
      .bind(ids)
      .run(),
  );
  return results.length;
}
