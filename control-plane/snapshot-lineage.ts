import { LIMITS } from "@svc/contract/limits.ts";
import { ask } from "./database.ts";

/** What became of deleting a snapshot. */
export type Deletion =
  | { type: "deleted"; hostId: string }
  | { type: "missing" | "creating" }
  | { type: "children"; children: number; some: string[] };

const CHILDLESS = `state <> 'creating' AND NOT EXISTS (SELECT 1 FROM snapshot_children WHERE snapshot_id = snapshots.id)`;

/** Deletes a snapshot that no live machine descends from; its row waits until its host has removed it. */
export async function deleteSnapshot(
  db: D1Database,
  org: string,
  id: string,
  now: number,
): Promise<Deletion> {
  // In one go, so that no fork can begin in between. What descended from it descends from its parent now.
  const [deleted] = await ask(db, () =>
    db.batch([
      db
        .prepare(
          `UPDATE snapshots SET deleted_at = ?3, leave_at = ?3
           WHERE id = ?1 AND org_id = ?2 AND deleted_at IS NULL AND ${CHILDLESS} RETURNING host_id`,
        )
        .bind(id, org, now),
      db
        .prepare(
          `UPDATE snapshots SET line_id = (SELECT line_id FROM snapshots WHERE id = ?1)
           WHERE line_id = ?1 AND EXISTS (SELECT 1 FROM snapshots WHERE id = ?1 AND deleted_at IS NOT NULL)`,
        )
        .bind(id),
    ]),
  );
  const [row] = (deleted?.results ?? []) as { host_id: string }[];
  return row ? { type: "deleted", hostId: row.host_id } : whyNot(db, org, id);
}

async function whyNot(db: D1Database, org: string, id: string): Promise<Deletion> {
  const sql = `SELECT s.state, c.sandbox_id AS child FROM snapshots AS s
    LEFT JOIN snapshot_children AS c ON c.snapshot_id = s.id
    WHERE s.id = ? AND s.org_id = ? AND s.deleted_at IS NULL`;
  const { results } = await ask(db, () =>
    db.prepare(sql).bind(id, org).all<{ state: string; child: string | null }>(),
  );
  if (results[0]?.state === "creating") return { type: "creating" };
  const children = results.flatMap(({ child }) => child ?? []);
  if (children.length === 0) return { type: "missing" };
  const some = children.slice(0, LIMITS.holdersListed);
  return { type: "children", children: children.length, some };
}

/** Notes that a machine is about to descend from a snapshot and from all of its ancestors. False when the snapshot is gone. */
export async function addChild(
  db: D1Database,
  org: string,
  snapshotId: string,
  sandboxId: string,
): Promise<boolean> {
  const sql = `INSERT OR IGNORE INTO snapshot_children (snapshot_id, sandbox_id)
    WITH RECURSIVE line (id, line_id) AS (
      SELECT id, line_id FROM snapshots
      WHERE id = ?1 AND org_id = ?2 AND state = 'ready' AND deleted_at IS NULL
      UNION SELECT s.id, s.line_id FROM snapshots AS s JOIN line ON s.id = line.line_id
    ) SELECT id, ?3 FROM line`;
  const { meta } = await ask(db, () => db.prepare(sql).bind(snapshotId, org, sandboxId).run());
  return meta.changes > 0;
}

/** A machine is gone, or its create failed: it descends from nothing. */
export async function dropChild(db: D1Database, sandboxId: string): Promise<void> {
  const sql = "DELETE FROM snapshot_children WHERE sandbox_id = ?";
  await ask(db, () => db.prepare(sql).bind(sandboxId).run());
}

/** Notes snapshots that are in the object store now. */
export async function noteDurable(db: D1Database, ids: readonly string[]): Promise<void> {
  const sql = "UPDATE snapshots SET durable = 1 WHERE id IN (SELECT value FROM json_each(?))";
  await ask(db, () => db.prepare(sql).bind(JSON.stringify(ids)).run());
}

/** A snapshot that its host is to remove. */
export interface RemovableSnapshot {
  id: string;
  org: string;
  hostId: string;
  isDurable: boolean;
  deletedAt: number | null;
}

/** Snapshots that hosts are to be told to remove now, the longest waiting first. */
export async function removableSnapshots(
  db: D1Database,
  now: number,
  limit: number,
): Promise<RemovableSnapshot[]> {
  const sql = `SELECT id, org_id, host_id, durable, deleted_at FROM snapshots WHERE leave_at <= ? ORDER BY leave_at LIMIT ?`;
  const { results } = await ask(db, () =>
    db.prepare(sql).bind(now, limit).all<{
      id: string;
      org_id: string;
      host_id: string;
      durable: number;
      deleted_at: number | null;
    }>(),
  );
  return results.map((row) => ({
    id: row.id,
    org: row.org_id,
    hostId: row.host_id,
    isDurable: row.durable === 1,
    deletedAt: row.deleted_at,
  }));
}

/** Its host has removed a snapshot: a deleted snapshot is forgotten, a failed one stays in the list. */
export async function noteRemoved(db: D1Database, id: string): Promise<void> {
  await ask(db, () =>
    db.batch([
      db.prepare("DELETE FROM snapshots WHERE id = ? AND deleted_at IS NOT NULL").bind(id),
      db.prepare("UPDATE snapshots SET leave_at = NULL WHERE id = ?").bind(id),
    ]),
  );
}

/** Its host has not removed a snapshot: the host is told again later. */
export async function removeLater(db: D1Database, id: string, at: number): Promise<void> {
  await ask(db, () =>
    db.prepare("UPDATE snapshots SET leave_at = ? WHERE id = ?").bind(at, id).run(),
  );
}
