import { newVolumeId } from "@svc/contract/ids.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { type CreateVolume, type Volume, volumeFields } from "@svc/contract/vm/volume.ts";
import { ask } from "./database.ts";
import { bindable, hasRoomFor } from "./kept.ts";
import { deleteObjects } from "./objects.ts";

/** A volume and who has it. */
export interface VolumeRow {
  id: string;
  name: string;
  size_mb: number | null;
  metadata: string | null;
  created_at: number;
  attached_to: string | null;
  epoch: number;
  host_id: string | null;
}

/** A volume that was given to a sandbox. */
export interface Attachment {
  volumeId: string;
  epoch: number;
  /** The host that had it last; null while none did. */
  hostId: string | null;
}

function toVolume({ id, name, created_at: at, size_mb: sizeMb, metadata }: VolumeRow): Volume {
  return {
    volumeId: id,
    name,
    createdAt: new Date(at).toISOString(),
    ...(sizeMb !== null && { sizeMb }),
    // Written by this file alone, from the contract's type.
    ...(metadata !== null && { metadata: JSON.parse(metadata) as Record<string, string> }),
  };
}

/** Creates a volume; null when its org has `cap` of them already. It has no bytes before it is mounted. */
export async function createVolume(
  db: D1Database,
  orgId: string,
  asked: CreateVolume,
  { cap, now }: { cap: number; now: number },
): Promise<Volume | null> {
  const { name, sizeMb, metadata } = volumeFields(asked);
  const volumeId = newVolumeId();
  const labels = metadata ? JSON.stringify(metadata) : null;
  // The statement counts and inserts at once: two creates of one moment never share the last place.
  const sql = `INSERT INTO volumes (org_id, id, name, size_mb, metadata, created_at)
    SELECT ?1, ?2, ?3, ?4, ?5, ?6 WHERE ${hasRoomFor.volume("?7")}`;
  const { meta } = await ask(db, () =>
    db
      .prepare(sql)
      .bind(orgId, volumeId, name, sizeMb ?? null, labels, now, bindable(cap))
      .run(),
  );
  if (meta.changes === 0) return null;
  const createdAt = new Date(now).toISOString();
  return { volumeId, name, createdAt, ...(sizeMb && { sizeMb }), ...(metadata && { metadata }) };
}

/** Notes how many bytes a volume has in the object store. */
export async function noteVolumeBytes(db: D1Database, id: string, bytes: number): Promise<void> {
  const sql = "UPDATE volumes SET stored_bytes = ? WHERE id = ?";
  await ask(db, () => db.prepare(sql).bind(bytes, id).run());
}

/** All volumes of an org, newest first. */
export async function listVolumes(db: D1Database, orgId: string): Promise<Volume[]> {
  const sql = "SELECT * FROM volumes WHERE org_id = ? ORDER BY created_at DESC, rowid DESC";
  const { results } = await ask(db, () => db.prepare(sql).bind(orgId).all<VolumeRow>());
  return results.map(toVolume);
}

/** A volume of an org; null when it has none of that id. */
export async function findVolume(
  db: D1Database,
  orgId: string,
  id: string,
): Promise<Volume | null> {
  const [row] = await volumeRows(db, orgId, [id]);
  return row ? toVolume(row) : null;
}

const marks = (ids: string[]): string => ids.map(() => "?").join(", ");

/** The rows of these volumes, as far as they are the org's, with who has them. */
export async function volumeRows(
  db: D1Database,
  orgId: string,
  ids: string[],
): Promise<VolumeRow[]> {
  const sql = `SELECT * FROM volumes WHERE org_id = ? AND id IN (${marks(ids)})`;
  const { results } = await ask(db, () =>
    db
      .prepare(sql)
      .bind(orgId, ...ids)
      .all<VolumeRow>(),
  );
  return results;
}

/** Gives volumes to a sandbox: all of them or, when one is not free or not the org's, none. */
export async function attachVolumes(
  db: D1Database,
  orgId: string,
  ids: string[],
  holder: string,
): Promise<Attachment[]> {
  const free = `org_id = ? AND id IN (${marks(ids)}) AND attached_to IS NULL`;
  // One statement, so that of two at once one gets all and the other nothing.
  const sql = `UPDATE volumes SET attached_to = ?, epoch = epoch + 1 WHERE ${free}
    AND (SELECT count(*) FROM volumes WHERE ${free}) = ? RETURNING id, epoch, host_id`;
  const { results } = await ask(db, () =>
    db
      .prepare(sql)
      .bind(holder, orgId, ...ids, orgId, ...ids, ids.length)
      .all<Pick<VolumeRow, "id" | "epoch" | "host_id">>(),
  );
  return results.map(({ id, epoch, host_id: hostId }) => ({ volumeId: id, epoch, hostId }));
}

/** Takes all its volumes from a sandbox, and notes its host as the last that had them. */
export async function releaseVolumes(
  db: D1Database,
  holder: string,
  hostId: string | null,
): Promise<void> {
  const sql = `UPDATE volumes SET attached_to = NULL, host_id = coalesce(?, host_id)
    WHERE attached_to = ?`;
  await ask(db, () => db.prepare(sql).bind(hostId, holder).run());
}

/** Deletes a volume that nobody has; its objects are deleted later. False when it is not there, or somebody has it. */
export async function deleteVolume(
  db: D1Database,
  orgId: string,
  id: string,
  now: number,
): Promise<boolean> {
  const free = "id = ?1 AND org_id = ?2 AND attached_to IS NULL";
  const discard = `INSERT OR IGNORE INTO discarded_volumes (id, discarded_at)
    SELECT id, ?3 FROM volumes WHERE ${free}`;
  const [, removed] = await ask(db, () =>
    db.batch([
      db.prepare(discard).bind(id, orgId, now),
      db.prepare(`DELETE FROM volumes WHERE ${free}`).bind(id, orgId),
    ]),
  );
  return removed?.meta.changes === 1;
}

// A volume takes one call for every thousand objects.
const mostReaped = 20;

/** Deletes the objects of volumes that were deleted so long ago that no signed URL can name one. Answers how many. */
export async function reapVolumes(db: D1Database, objects: R2Bucket, now: number): Promise<number> {
  const sql = "SELECT id FROM discarded_volumes WHERE discarded_at <= ? LIMIT ?";
  const { results } = await ask(db, () =>
    db
      .prepare(sql)
      .bind(now - LIMITS.hostObjectUrlMs, mostReaped)
      .all<{ id: string }>(),
  );
  for (const { id } of results) {
    await deleteObjects(objects, `${id}/`);
    await ask(db, () => db.prepare("DELETE FROM discarded_volumes WHERE id = ?").bind(id).run());
  }
  return results.length;
}
