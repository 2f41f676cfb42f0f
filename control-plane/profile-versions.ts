import type { ProfileSaved, ProfileVersion } from "@svc/contract/browser/profile.ts";
import { ApiError } from "@svc/contract/errors.ts";
import { randomText } from "@svc/contract/ids.ts";
import { ask } from "./database.ts";
import { discard } from "./discarded.ts";
import { type ProfileRow, type Stores, isLocked, locked, rowOf } from "./profiles.ts";

/** How often a save begins again that is to become the next version whatever version there is: each time another one came first. */
const TRIES = 100;

/** A profile that is to get its next version. */
export interface ProfileWrite {
  orgId: string;
  id: string;
  /** The lease that the writer shows; null: none. */
  lease: string | null;
  /** How many versions are kept. */
  keeps: number;
  /** The state becomes the next version, also when another one was saved meanwhile. */
  overtakes?: true;
}

/** A state to store. A stream has a known length. */
export interface StateToStore {
  body: Uint8Array | ReadableStream;
  sizeBytes: number;
}

interface VersionRow {
  version: number;
  object_key: string;
  size_bytes: number;
  saved_at: number;
}

/**
 * Stores a state as the next version. The row moves only once the object is written, and only from
 * the version it was read at: whatever fails, the stored version stays what it was, and the object
 * that nothing names is reaped.
 */
export async function saveProfile(
  { db, objects }: Stores,
  write: ProfileWrite,
  { body, sizeBytes }: StateToStore,
  now: number,
): Promise<ProfileSaved> {
  const row = await writableRow(db, write, now);
  // Two savers of one version write two objects: the loser's is never named by a row.
  const key = `profiles/${write.orgId}/${write.id}/${row.version + 1}-${randomText(8)}.json`;
  await discard(db, key, now);
  await ask(objects, () => objects.put(key, body));
  const tries = write.overtakes ? TRIES : 1;
  return advance(db, write, { row, key, sizeBytes, now }, tries);
}

/** Makes an older version the next one: both name one object. */
export async function restoreProfile(
  db: D1Database,
  write: ProfileWrite,
  version: number,
  now: number,
): Promise<ProfileSaved> {
  const row = await writableRow(db, write, now);
  const sql = "SELECT * FROM profile_versions WHERE profile_id = ? AND version = ?";
  const old = await ask(db, () => db.prepare(sql).bind(write.id, version).first<VersionRow>());
  if (!old)
    throw new ApiError("ProfileVersionNotFound", "The profile has no such version any more.");
  const { object_key: key, size_bytes: sizeBytes } = old;
  return advance(db, write, { row, key, sizeBytes, now }, 1);
}

/** The versions of a profile that are kept, newest first. */
export async function profileVersions(
  db: D1Database,
  orgId: string,
  id: string,
): Promise<ProfileVersion[]> {
  const { version: current } = await rowOf(db, orgId, id);
  const sql = "SELECT * FROM profile_versions WHERE profile_id = ? ORDER BY version DESC";
  const { results } = await ask(db, () => db.prepare(sql).bind(id).all<VersionRow>());
  return results.map((row) => ({
    version: row.version,
    sizeBytes: row.size_bytes,
    savedAt: new Date(row.saved_at).toISOString(),
    isCurrent: row.version === current,
  }));
}

/** The row of a profile that this writer may change now. */
export async function writableRow(
  db: D1Database,
  { orgId, id, lease }: Pick<ProfileWrite, "orgId" | "id" | "lease">,
  now: number,
): Promise<ProfileRow> {
  const row = await rowOf(db, orgId, id);
  if (isLocked(row, lease, now)) throw locked();
  return row;
}

interface Next {
  row: ProfileRow;
  key: string;
  sizeBytes: number;
  now: number;
}

async function advance(
  db: D1Database,
  write: ProfileWrite,
  next: Next,
  tries: number,
): Promise<ProfileSaved> {
  const { row, key, sizeBytes, now } = next;
  const version = row.version + 1;
  if (await isAdvanced(db, write, next))
    return { profileId: write.id, version, storageStateS3Key: key, sizeBytes };
  if (tries > 1)
    return advance(db, write, { ...next, row: await writableRow(db, write, now) }, tries - 1);
  const text = "The profile was saved or opened meanwhile. Read it and save again.";
  throw new ApiError("ProfileVersionConflict", text);
}

const ADVANCE = `UPDATE profiles SET version = ?1, object_key = ?2, size_bytes = ?3, saved_at = ?4
  WHERE id = ?5 AND version = ?1 - 1
    AND (editor_until IS NULL OR editor_until <= ?4 OR editor_lease = ?6)`;
const NOTE = `INSERT OR IGNORE INTO profile_versions (profile_id, version, object_key, size_bytes, saved_at)
  SELECT id, version, object_key, size_bytes, saved_at FROM profiles
  WHERE id = ?1 AND object_key = ?2 AND version = ?3`;
const KEEP_NEW = `DELETE FROM discarded_objects WHERE object_key = ?1
  AND EXISTS (SELECT 1 FROM profile_versions WHERE object_key = ?1)`;
const OLD = `profile_id = ?1
  AND version <= (SELECT version FROM profiles WHERE id = ?1) - ?2`;
const DROP_OLD = `INSERT OR IGNORE INTO discarded_objects (object_key, discarded_at)
  SELECT object_key, ?3 FROM profile_versions AS old WHERE ${OLD} AND NOT EXISTS (
    SELECT 1 FROM profile_versions AS kept WHERE kept.object_key = old.object_key
      AND kept.version > (SELECT version FROM profiles WHERE id = ?1) - ?2)`;
const FORGET_OLD = `DELETE FROM profile_versions WHERE ${OLD}`;

/** Moves a row to its next version, and discards the objects that no version names any more; all or nothing. */
async function isAdvanced(
  db: D1Database,
  { id, lease, keeps }: ProfileWrite,
  { row, key, sizeBytes, now }: Next,
): Promise<boolean> {
  const version = row.version + 1;
  const [updated] = await ask(db, () =>
    db.batch([
      db.prepare(ADVANCE).bind(version, key, sizeBytes, now, id, lease),
      db.prepare(NOTE).bind(id, key, version),
      db.prepare(KEEP_NEW).bind(key),
      db.prepare(DROP_OLD).bind(id, keeps, now),
      db.prepare(FORGET_OLD).bind(id, keeps),
    ]),
  );
  return updated?.meta.changes === 1;
}
