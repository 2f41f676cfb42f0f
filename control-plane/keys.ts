import type { KeyCreated, KeyRecord } from "@svc/contract/admin/orgs.ts";
import { sha256 } from "@svc/contract/digest.ts";
import { formatApiKey, newApiKey } from "@svc/contract/ids.ts";
import type { PlanName, PlanOverrides } from "@svc/contract/plans.ts";
import { ask } from "./database.ts";
import { planOf } from "./orgs.ts";

/** A live key with its org: what verifying a bearer needs. */
export interface KeyHolder {
  keyId: string;
  /** All the database ever holds of the secret. */
  secretSha256: string;
  orgId: string;
  plan: PlanName;
  overrides: PlanOverrides;
  /** Whether the org pays in advance: its VMs then need credit. */
  isPrepaid: boolean;
}

/** Makes a key for an org. Null when there is no such org. The answer is the only time the key is known. */
export async function createKey(
  db: D1Database,
  orgId: string,
  name: string,
  now: number,
): Promise<KeyCreated | null> {
  const key = newApiKey();
  const hash = await sha256(key.secret);
  const { meta } = await ask(db, () =>
    db
      .prepare(
        `INSERT INTO api_keys (id, org_id, name, secret_sha256, created_at)
         SELECT ?, id, ?, ?, ? FROM orgs WHERE id = ?`,
      )
      .bind(key.keyId, name, hash, now, orgId)
      .run(),
  );
  return meta.changes === 1 ? { keyId: key.keyId, key: formatApiKey(key) } : null;
}

/** The keys of an org, newest first, without secrets. */
export async function listKeys(db: D1Database, orgId: string): Promise<KeyRecord[]> {
  const { results } = await ask(db, () =>
    db
      .prepare(
        "SELECT id, name, created_at, revoked_at FROM api_keys WHERE org_id = ? ORDER BY created_at DESC, id",
      )
      .bind(orgId)
      .all<{ id: string; name: string; created_at: number; revoked_at: number | null }>(),
  );
  return results.map((row) => ({
    keyId: row.id,
    name: row.name,
    createdAt: new Date(row.created_at).toISOString(),
    revokedAt: row.revoked_at === null ? null : new Date(row.revoked_at).toISOString(),
  }));
}

/** Revokes a key; false when there is none. Revoking twice keeps the first time. */
export async function revokeKey(db: D1Database, keyId: string, now: number): Promise<boolean> {
  const { meta } = await ask(db, () =>
    db
      .prepare("UPDATE api_keys SET revoked_at = coalesce(revoked_at, ?) WHERE id = ?")
      .bind(now, keyId)
      .run(),
  );
  return meta.changes === 1;
}

/** The holder of a key that is not revoked, or null. */
export async function findKey(db: D1Database, keyId: string): Promise<KeyHolder | null> {
  const row = await ask(db, () =>
    db
      .prepare(
        `SELECT api_keys.secret_sha256, orgs.id, orgs.plan, orgs.overrides,
           orgs.credit_cents IS NOT NULL AS prepaid FROM api_keys
         JOIN orgs ON orgs.id = api_keys.org_id
         WHERE api_keys.id = ? AND api_keys.revoked_at IS NULL`,
      )
      .bind(keyId)
      .first<{
        secret_sha256: string;
        id: string;
        plan: string;
        overrides: string;
        prepaid: number;
      }>(),
  );
  if (!row) return null;
  const { id: orgId, secret_sha256: secretSha256, prepaid } = row;
  return { keyId, secretSha256, orgId, isPrepaid: prepaid === 1, ...planOf(row) };
}
