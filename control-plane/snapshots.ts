import { SnapshotPlatform, type SnapshotTaken } from "@svc/contract/host-protocol/vm-states.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import type { VmKind } from "@svc/contract/vm/machine.ts";
import type { SnapshotState } from "@svc/contract/vm/snapshot.ts";
import { ask } from "./database.ts";
import { hasRoomFor } from "./kept.ts";
import { hasLabels } from "./labels.ts";

/** A snapshot's record. Times are ms since the epoch. */
export interface Snapshot {
  id: string;
  org: string;
  name: string;
  kind: VmKind;
  state: SnapshotState;
  sandboxId: string;
  parentId: string | null;
  template: string;
  cpu: number;
  memMb: number;
  diskGb: number;
  sizeBytes: number | null;
  platform: SnapshotPlatform | null;
  isDurable: boolean;
  metadata: Record<string, string>;
  createdAt: number;
  /** Where it lies: never shown. */
  hostId: string;
  /** Live machines that descend from it. */
  children: number;
}

/** A snapshot that is to be taken now. `forkOf`: the snapshot that its machine was forked from. */
export type NewSnapshot = Omit<
  Snapshot,
  "state" | "sizeBytes" | "platform" | "isDurable" | "children"
> & { forkOf: string | null };

interface Row {
  id: string;
  org_id: string;
  name: string;
  kind: VmKind;
  state: SnapshotState;
  sandbox_id: string;
  parent_id: string | null;
  template: string;
  cpu: number;
  mem_mb: number;
  disk_gb: number;
  size_bytes: number | null;
  platform: string | null;
  durable: number;
  metadata: string;
  created_at: number;
  host_id: string;
  children: number;
}

const COLUMNS = `*, (SELECT count(*) FROM snapshot_children WHERE snapshot_id = snapshots.id) AS children`;

const toSnapshot = (row: Row): Snapshot => ({
  id: row.id,
  org: row.org_id,
  name: row.name,
  kind: row.kind,
  state: row.state,
  sandboxId: row.sandbox_id,
  parentId: row.parent_id,
  template: row.template,
  cpu: row.cpu,
  memMb: row.mem_mb,
  diskGb: row.disk_gb,
  sizeBytes: row.size_bytes,
  platform: row.platform === null ? null : SnapshotPlatform.parse(JSON.parse(row.platform)),
  isDurable: row.durable === 1,
  // Written by this file alone, from the contract's type.
  metadata: JSON.parse(row.metadata) as Record<string, string>,
  createdAt: row.created_at,
  hostId: row.host_id,
  children: row.children,
});

/** Notes a snapshot that is about to be taken; false when its org has `cap` of them already. */
export async function beginSnapshot(
  db: D1Database,
  one: NewSnapshot,
  cap: number,
): Promise<boolean> {
  const { id, org, name, kind, sandboxId, parentId, forkOf, template } = one;
  const { cpu, memMb, diskGb, metadata, createdAt, hostId } = one;
  const labels = JSON.stringify(metadata);
  const sql = `INSERT INTO snapshots (id, org_id, name, kind, state, sandbox_id, parent_id, line_id, template,
    cpu, mem_mb, disk_gb, metadata, created_at, host_id)
    SELECT ?2, ?1, ?3, ?4, 'creating', ?5, ?6,
    COALESCE((SELECT id FROM snapshots WHERE id = ?6 AND deleted_at IS NULL), ?7), ?8, ?9, ?10, ?11, ?12, ?13, ?14
    WHERE ${hasRoomFor.snapshot("?15")}`;
  const facts = [org, id, name, kind, sandboxId, parentId, forkOf, template];
  const rest = [cpu, memMb, diskGb, labels, createdAt, hostId];
  const { meta } = await ask(db, () =>
    db
      .prepare(sql)
      .bind(...facts, ...rest, cap)
      .run(),
  );
  return meta.changes > 0;
}

/** Notes that a snapshot was taken; null when nobody waits for it any more. */
export async function finishSnapshot(
  db: D1Database,
  org: string,
  taken: SnapshotTaken,
): Promise<Snapshot | null> {
  const { snapshotId: id, sizeBytes, cpu, memMb, diskGb, platform, durable = false } = taken;
  const sql = `UPDATE snapshots SET state = 'ready', size_bytes = ?2, cpu = ?3, mem_mb = ?4, disk_gb = ?5,
    platform = ?6, durable = max(durable, ?7) WHERE id = ?1 AND state = 'creating'`;
  const values = [id, sizeBytes, cpu, memMb, diskGb, JSON.stringify(platform), durable ? 1 : 0];
  const { meta } = await ask(db, () =>
    db
      .prepare(sql)
      .bind(...values)
      .run(),
  );
  return meta.changes === 1 ? findSnapshot(db, org, id) : null;
}

/** Notes that a snapshot was not taken; its host is told later to let go of what there may be of it. */
export async function failSnapshot(db: D1Database, id: string, now: number): Promise<void> {
  const sql = `UPDATE snapshots SET state = 'failed', leave_at = ? WHERE id = ? AND state = 'creating'`;
  // Not before it can be over: told too early, the host would keep what it is still writing.
  const leaveAt = now + 2 * LIMITS.stateChangeMs;
  await ask(db, () => db.prepare(sql).bind(leaveAt, id).run());
}

/** A snapshot of an org; null when it has none of that id. */
export async function findSnapshot(
  db: D1Database,
  org: string,
  id: string,
): Promise<Snapshot | null> {
  const sql = `SELECT ${COLUMNS} FROM snapshots WHERE id = ? AND org_id = ? AND deleted_at IS NULL`;
  const row = await ask(db, () => db.prepare(sql).bind(id, org).first<Row>());
  return row && toSnapshot(row);
}

/** GET /snapshots. */
export interface SnapshotQuery {
  limit: number;
  cursor: string | null;
  sandboxId: string | null;
  kind: VmKind | null;
  /** Labels that must all be there. */
  metadata: [string, string][];
}

/** Newest first. A cursor of nobody's is the first page. */
export async function listSnapshots(
  db: D1Database,
  org: string,
  { limit, cursor, sandboxId, kind, metadata }: SnapshotQuery,
): Promise<{ snapshots: Snapshot[]; nextCursor: string | null }> {
  const [, at, before] = /^([0-9a-z]{1,10})\.([0-9A-Za-z_-]{1,100})$/.exec(cursor ?? "") ?? [];
  const filters: [string, ...(string | number)[]][] = [["org_id = ? AND deleted_at IS NULL", org]];
  if (sandboxId !== null) filters.push(["sandbox_id = ?", sandboxId]);
  if (kind !== null) filters.push(["kind = ?", kind]);
  if (at !== undefined && before !== undefined)
    filters.push(["(created_at, id) < (?, ?)", Number.parseInt(at, 36), before]);
  // All labels in one value: a statement binds no more than a hundred.
  if (metadata.length > 0) filters.push([hasLabels("snapshots"), JSON.stringify(metadata)]);
  const where = filters.map(([text]) => text).join(" AND ");
  const values = filters.flatMap(([, ...bound]) => bound);
  const sql = `SELECT ${COLUMNS} FROM snapshots WHERE ${where} ORDER BY created_at DESC, id DESC LIMIT ?`;
  const { results } = await ask(db, () =>
    db
      .prepare(sql)
      .bind(...values, limit + 1)
      .all<Row>(),
  );
  const page = results.slice(0, limit);
  const last = results.length > limit ? page.at(-1) : undefined;
  const nextCursor = last ? `${last.created_at.toString(36)}.${last.id}` : null;
  return { snapshots: page.map(toSnapshot), nextCursor };
}
