import { RATES } from "@svc/contract/plans.ts";
import { ask } from "./database.ts";

/** A span that is billed: a browser session, or a VM while it runs. Times are ms since the epoch. */
export interface UsageSegment {
  /** A session's id, or a VM's with the number of the span: so that writing it twice is harmless. */
  id: string;
  orgId: string;
  kind: "browser" | "vm";
  /** Size of a VM: what it is billed by. */
  cpu?: number;
  memMb?: number;
  startedAt: number;
  /** null while it runs. */
  endedAt: number | null;
}

/** Writes a segment as it is now. Late and repeated writes agree: an end once written stays. */
export async function writeSegment(db: D1Database, segment: UsageSegment): Promise<void> {
  const { id, orgId, kind, startedAt, endedAt, cpu = null, memMb = null } = segment;
  await ask(db, () =>
    db
      .prepare(
        `INSERT INTO usage_segments (id, org_id, kind, started_at, ended_at, cpu, mem_mb)
         VALUES (?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT (id) DO UPDATE SET ended_at = coalesce(ended_at, excluded.ended_at)`,
      )
      .bind(id, orgId, kind, startedAt, endedAt, cpu, memMb)
      .run(),
  );
}

/** Some of the segments that are open and began before a time, at random, so that each has its turn. */
export async function openSegments(
  db: D1Database,
  before: number,
  most: number,
): Promise<Pick<UsageSegment, "id" | "kind">[]> {
  const { results } = await ask(db, () =>
    db
      .prepare(
        `SELECT id, kind FROM usage_segments WHERE ended_at IS NULL AND started_at < ?
         ORDER BY random() LIMIT ?`,
      )
      .bind(before, most)
      .all<Pick<UsageSegment, "id" | "kind">>(),
  );
  return results;
}

/** Balance of a prepaid org in cents: its credit less its use since the credit was given. null for an org that is not prepaid. */
export async function creditLeft(
  db: D1Database,
  orgId: string,
  now: number,
): Promise<number | null> {
  const { browserHour, vcpuHour, gibHour } = RATES;
  const row = await ask(db, () =>
    db
      .prepare(
        `SELECT credit_cents - coalesce((
           SELECT sum((coalesce(ended_at, ?2) - max(started_at, since)) / 3600000.0 * CASE kind
             WHEN 'browser' THEN ?3 ELSE cpu * ?4 + mem_mb / 1024.0 * ?5 END)
           FROM usage_segments WHERE org_id = orgs.id AND coalesce(ended_at, ?2) > since), 0) AS cents
         FROM (SELECT *, coalesce(credit_since, 0) AS since FROM orgs WHERE id = ?1) AS orgs`,
      )
      .bind(orgId, now, browserHour, vcpuHour, gibHour)
      .first<{ cents: number | null }>(),
  );
  return row?.cents ?? null;
}
