import { ask } from "./database.ts";

/** A span that is billed: a browser session, or a VM while it runs. Times are ms since the epoch. */
export interface UsageSegment {
  /** The session's id: one segment a session, so that writing it twice is harmless. */
  id: string;
  orgId: string;
  kind: "browser";
  startedAt: number;
  /** null while it runs. */
  endedAt: number | null;
}

/** Writes a segment as it is now. Late and repeated writes agree: an end once written stays. */
export async function writeSegment(db: D1Database, segment: UsageSegment): Promise<void> {
  const { id, orgId, kind, startedAt, endedAt } = segment;
  await ask(db, () =>
    db
      .prepare(
        `INSERT INTO usage_segments (id, org_id, kind, started_at, ended_at) VALUES (?, ?, ?, ?, ?)
         ON CONFLICT (id) DO UPDATE SET ended_at = coalesce(ended_at, excluded.ended_at)`,
      )
      .bind(id, orgId, kind, startedAt, endedAt)
      .run(),
  );
}
