import type { Profile, ProfileSaved } from "@svc/contract/browser/profile.ts";
import { ApiError } from "@svc/contract/errors.ts";
import { newProfileId, randomText } from "@svc/contract/ids.ts";
import { ask } from "./database.ts";
import { discard } from "./discarded.ts";

interface ProfileRow {
  id: string;
  name: string;
  version: number;
  object_key: string | null;
  size_bytes: number | null;
  created_at: number;
  saved_at: number | null;
  editor_until: number | null;
}

/** Where things are kept: rows in D1, states in R2. */
export interface Stores {
  db: D1Database;
  objects: R2Bucket;
}

const isoOrNull = (at: number | null): string | null =>
  at === null ? null : new Date(at).toISOString();

const toProfile = (row: ProfileRow): Profile => ({
  id: row.id,
  name: row.name,
  version: row.version,
  sizeBytes: row.size_bytes,
  createdAt: new Date(row.created_at).toISOString(),
  savedAt: isoOrNull(row.saved_at),
});

const notFound = () => new ApiError("ProfileNotFound", "There is no such profile.");
const locked = () =>
  new ApiError("ProfileLocked", "The profile is open in the editor. Close it and try again.");

async function rowOf(db: D1Database, orgId: string, id: string): Promise<ProfileRow> {
  const row = await ask(db, () =>
    db
      .prepare("SELECT * FROM profiles WHERE id = ? AND org_id = ?")
      .bind(id, orgId)
      .first<ProfileRow>(),
  );
  if (!row) throw notFound();
  return row;
}

/** Where the state of a profile lies; null while it was never saved. Throws ProfileNotFound. */
export async function storedStateOf(
  db: D1Database,
  orgId: string,
  id: string,
): Promise<string | null> {
  return (await rowOf(db, orgId, id)).object_key;
}

/** The profiles of an org, newest first. */
export async function listProfiles(db: D1Database, orgId: string): Promise<Profile[]> {
  const { results } = await ask(db, () =>
    db
      .prepare("SELECT * FROM profiles WHERE org_id = ? ORDER BY created_at DESC, id")
      .bind(orgId)
      .all<ProfileRow>(),
  );
  return results.map(toProfile);
}

/** Creates an empty profile: its name is new in the org, and the plan's cap leaves room. */
export async function createProfile(
  db: D1Database,
  org: { orgId: string; plan: string; cap: number },
  name: string,
  now: number,
): Promise<Profile> {
  const id = newProfileId();
  // One statement, so that neither the cap nor the name can be passed by two at once.
  const { meta } = await ask(db, () =>
    db
      .prepare(
        `INSERT INTO profiles (id, org_id, name, created_at)
         SELECT ?1, ?2, ?3, ?4 WHERE (SELECT count(*) FROM profiles WHERE org_id = ?2) < ?5
         ON CONFLICT (org_id, name) DO NOTHING`,
      )
      .bind(id, org.orgId, name, now, org.cap)
      .run(),
  );
  if (meta.changes === 0) throw await refusalOf(db, org, name);
  const row = { id, name, version: 0, sizeBytes: null, savedAt: null };
  return { ...row, createdAt: new Date(now).toISOString() };
}

async function refusalOf(
  db: D1Database,
  { orgId, plan, cap }: { orgId: string; plan: string; cap: number },
  name: string,
): Promise<ApiError> {
  const taken = await ask(db, () =>
    db.prepare("SELECT 1 FROM profiles WHERE org_id = ? AND name = ?").bind(orgId, name).first(),
  );
  if (taken) return new ApiError("ValidationError", "name: is taken", { field: "name" });
  const text = `The ${plan} plan allows ${cap} profiles.`;
  return new ApiError("PlanLimitExceeded", text, { plan, cap });
}

/** Deletes a profile's row; its state is deleted later, by the scheduled job. Both are noted in one batch. */
export async function deleteProfile(
  db: D1Database,
  orgId: string,
  id: string,
  now: number,
): Promise<void> {
  const unlocked = `id = ?1 AND org_id = ?2 AND (editor_until IS NULL OR editor_until <= ?3)`;
  const drop = `INSERT OR IGNORE INTO discarded_objects (object_key, discarded_at)
    SELECT object_key, ?3 FROM profiles WHERE ${unlocked} AND object_key IS NOT NULL`;
  const remove = `DELETE FROM profiles WHERE ${unlocked}`;
  const [, removed] = await ask(db, () =>
    db.batch([drop, remove].map((sql) => db.prepare(sql).bind(id, orgId, now))),
  );
  if (removed?.meta.changes === 1) return;
  await rowOf(db, orgId, id);
  throw locked();
}

/**
 * Stores a state as the next version. The row moves only once the object is written, and only from
 * the version it was read at: whatever fails, the stored version stays what it was, and the object
 * that nothing names is reaped.
 */
export async function saveProfile(
  { db, objects }: Stores,
  orgId: string,
  id: string,
  bytes: Uint8Array,
  now: number,
): Promise<ProfileSaved> {
  const row = await rowOf(db, orgId, id);
  if (isLocked(row, now)) throw locked();
  const version = row.version + 1;
  // Two savers of one version write two objects: the loser's is never named by a row.
  const key = `profiles/${orgId}/${id}/${version}-${randomText(8)}.json`;
  await discard(db, key, now);
  await ask(objects, () => objects.put(key, bytes));
  const next = { ...row, version, object_key: key, size_bytes: bytes.length, saved_at: now };
  if (!(await advance(db, row, next))) {
    const text = "The profile was saved or opened meanwhile. Read it and save again.";
    throw new ApiError("ProfileVersionConflict", text);
  }
  return { profileId: id, version, storageStateS3Key: key, sizeBytes: bytes.length };
}

const isLocked = ({ editor_until: until }: ProfileRow, now: number): boolean =>
  until !== null && until > now;

const ADVANCE = `UPDATE profiles SET version = ?1, object_key = ?2, size_bytes = ?3, saved_at = ?4
  WHERE id = ?5 AND version = ?6 AND (editor_until IS NULL OR editor_until <= ?4)`;
const KEEP_NEW = `DELETE FROM discarded_objects WHERE object_key = ?1
  AND EXISTS (SELECT 1 FROM profiles WHERE object_key = ?1)`;
const DROP_OLD = `INSERT OR IGNORE INTO discarded_objects (object_key, discarded_at)
  SELECT ?1, ?2 WHERE ?1 IS NOT NULL AND NOT EXISTS (SELECT 1 FROM profiles WHERE object_key = ?1)`;

/** Moves a row to its next version, and swaps which of the two objects is discarded; all or nothing. */
async function advance(db: D1Database, row: ProfileRow, next: ProfileRow): Promise<boolean> {
  const { id, version, object_key: key, size_bytes: size, saved_at: now } = next;
  const [updated] = await ask(db, () =>
    db.batch([
      db.prepare(ADVANCE).bind(version, key, size, now, id, row.version),
      db.prepare(KEEP_NEW).bind(key),
      db.prepare(DROP_OLD).bind(row.object_key, now),
    ]),
  );
  return updated?.meta.changes === 1;
}
