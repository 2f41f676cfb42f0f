import type { Profile } from "@svc/contract/browser/profile.ts";
import { ApiError } from "@svc/contract/errors.ts";
import { newProfileId } from "@svc/contract/ids.ts";
import { ask } from "./database.ts";

/** A profile as D1 has it. Times are ms. */
export interface ProfileRow {
  id: string;
  name: string;
  version: number;
  object_key: string | null;
  size_bytes: number | null;
  created_at: number;
  saved_at: number | null;
  editor_until: number | null;
  editor_lease: string | null;
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

/** The refusal while somebody else has the profile open. */
export const locked = (): ApiError =>
  new ApiError("ProfileLocked", "The profile is open in the editor. Close it and try again.");

/** The row of a profile. Throws ProfileNotFound. */
export async function rowOf(db: D1Database, orgId: string, id: string): Promise<ProfileRow> {
  const row = await ask(db, () =>
    db
      .prepare("SELECT * FROM profiles WHERE id = ? AND org_id = ?")
      .bind(id, orgId)
      .first<ProfileRow>(),
  );
  if (!row) throw notFound();
  return row;
}

/** Whether an editor has the profile that shows another lease, or none. */
export const isLocked = (row: ProfileRow, lease: string | null, now: number): boolean =>
  row.editor_until !== null &&
  row.editor_until > now &&
  (lease === null || lease !== row.editor_lease);

/** The id of a profile by its name; null when the org has none of that name. */
export async function profileNamed(
  db: D1Database,
  orgId: string,
  name: string,
): Promise<string | null> {
  const row = await ask(db, () =>
    db
      .prepare("SELECT id FROM profiles WHERE org_id = ? AND name = ?")
      .bind(orgId, name)
      .first<{ id: string }>(),
  );
  return row?.id ?? null;
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

/** Deletes a profile's rows; its states are deleted later, by the scheduled job. All are noted in one batch. */
export async function deleteProfile(
  db: D1Database,
  orgId: string,
  id: string,
  now: number,
): Promise<void> {
  const unlocked = `id = ?1 AND org_id = ?2 AND (editor_until IS NULL OR editor_until <= ?3)`;
  const versions = `profile_id IN (SELECT id FROM profiles WHERE ${unlocked})`;
  const drop = `INSERT OR IGNORE INTO discarded_objects (object_key, discarded_at)
    SELECT object_key, ?3 FROM profile_versions WHERE ${versions}`;
  const forget = `DELETE FROM profile_versions WHERE ${versions}`;
  const logins = `DELETE FROM profile_logins WHERE ${versions}`;
  const remove = `DELETE FROM profiles WHERE ${unlocked}`;
  const [, , , removed] = await ask(db, () =>
    db.batch([drop, forget, logins, remove].map((sql) => db.prepare(sql).bind(id, orgId, now))),
  );
  if (removed?.meta.changes === 1) return;
  await rowOf(db, orgId, id);
  throw locked();
}
