import { randomText } from "@svc/contract/ids.ts";
import { ask } from "./database.ts";
import { isLocked, locked, rowOf } from "./profiles.ts";

/** Who holds a profile, or wants to: the lease that the caller shows, null for none. */
export interface Editor {
  orgId: string;
  id: string;
  lease: string | null;
}

/** Holds a profile until a time, or renews that; answers the lease. Throws ProfileLocked while somebody else holds it. */
export async function lockProfile(
  db: D1Database,
  { orgId, id, lease }: Editor,
  { now, until }: { now: number; until: number },
): Promise<string> {
  const held = lease ?? `lease_${randomText(24)}`;
  // One statement: of two editors that come at once one has the profile.
  const sql = `UPDATE profiles SET editor_lease = ?1, editor_until = ?2 WHERE id = ?3 AND org_id = ?4
    AND (editor_until IS NULL OR editor_until <= ?5 OR editor_lease = ?1)`;
  const { meta } = await ask(db, () => db.prepare(sql).bind(held, until, id, orgId, now).run());
  if (meta.changes === 1) return held;
  await rowOf(db, orgId, id);
  throw locked();
}

/** Gives a lease back. One that has ended is as good; throws ProfileLocked while somebody else holds the profile. */
export async function unlockProfile(
  db: D1Database,
  { orgId, id, lease }: Editor,
  now: number,
): Promise<void> {
  const sql = `UPDATE profiles SET editor_lease = NULL, editor_until = NULL
    WHERE id = ? AND org_id = ? AND editor_lease = ?`;
  const { meta } = await ask(db, () => db.prepare(sql).bind(id, orgId, lease).run());
  if (meta.changes === 1) return;
  if (isLocked(await rowOf(db, orgId, id), lease, now)) throw locked();
}
