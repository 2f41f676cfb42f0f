import type { CreateOrg, Org, PatchOrg } from "@svc/contract/admin/orgs.ts";
import { newOrgId } from "@svc/contract/ids.ts";
import { PLAN_NAMES, PlanOverrides, type PlanName } from "@svc/contract/plans.ts";
import * as z from "zod";
import { ask } from "./database.ts";

const PlanColumn = z.enum(PLAN_NAMES);

interface OrgRow {
  id: string;
  name: string;
  plan: string;
  overrides: string;
  credit_cents: number | null;
  created_at: number;
}

/** The plan columns of a row, parsed. */
export function planOf(row: { plan: string; overrides: string }): {
  plan: PlanName;
  overrides: PlanOverrides;
} {
  return {
    plan: PlanColumn.parse(row.plan),
    overrides: PlanOverrides.parse(JSON.parse(row.overrides)),
  };
}

const toOrg = (row: OrgRow): Org => ({
  orgId: row.id,
  name: row.name,
  ...planOf(row),
  creditCents: row.credit_cents,
  createdAt: new Date(row.created_at).toISOString(),
});

export async function createOrg(db: D1Database, wanted: CreateOrg, now: number): Promise<Org> {
  const orgId = newOrgId();
  const { name, plan, overrides, creditCents } = wanted;
  await ask(db, () =>
    db
      .prepare(
        `INSERT INTO orgs (id, name, plan, overrides, credit_cents, credit_since, created_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)`,
      )
      .bind(orgId, name, plan, JSON.stringify(overrides), creditCents, now)
      .run(),
  );
  return { orgId, ...wanted, createdAt: new Date(now).toISOString() };
}

export async function findOrg(db: D1Database, orgId: string): Promise<Org | null> {
  const row = await ask(db, () =>
    db.prepare("SELECT * FROM orgs WHERE id = ?").bind(orgId).first<OrgRow>(),
  );
  return row && toOrg(row);
}

/** All orgs, newest first. */
export async function listOrgs(db: D1Database): Promise<Org[]> {
  const { results } = await ask(db, () =>
    db.prepare("SELECT * FROM orgs ORDER BY created_at DESC, id").all<OrgRow>(),
  );
  return results.map(toOrg);
}

/** Changes what the patch names; null when there is no such org. Credit that is named is the org's balance from `now` on. */
export async function patchOrg(
  db: D1Database,
  orgId: string,
  patch: PatchOrg,
  now: number,
): Promise<Org | null> {
  const columns = {
    plan: patch.plan,
    overrides: patch.overrides && JSON.stringify(patch.overrides),
    credit_cents: patch.creditCents,
    credit_since: patch.creditCents === undefined ? undefined : now,
  };
  const changes = Object.entries(columns).filter(([, value]) => value !== undefined);
  if (changes.length > 0) {
    const set = changes.map(([column]) => `${column} = ?`).join(", ");
    const values = changes.map(([, value]) => value);
    await ask(db, () =>
      db
        .prepare(`UPDATE orgs SET ${set} WHERE id = ?`)
        .bind(...values, orgId)
        .run(),
    );
  }
  return findOrg(db, orgId);
}
