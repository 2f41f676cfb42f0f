import { type Refusal, refusal } from "@svc/contract/errors.ts";
import { ask } from "./database.ts";

/** The caps of a plan on what an org keeps: `pausedVm`, `snapshot`, `template` and `volume` are counted, `storage` is in GiB. */
export type KeptKind = keyof typeof TEXTS;

const TEXTS = {
  pausedVm: (cap: number) => `keeps ${cap} machines, running and paused together. Delete one`,
  snapshot: (cap: number) => `allows ${cap} snapshots. Delete one`,
  template: (cap: number) => `allows ${cap} templates. Delete one`,
  volume: (cap: number) => `allows ${cap} volumes. Delete one`,
  storage: (cap: number) =>
    `keeps ${cap} GiB of paused machines, snapshots and volumes together. Delete some of them`,
};

/** The refusal of what a plan has no room for. */
export function planLimit(kind: KeptKind, { plan, cap }: { plan: string; cap: number }): Refusal {
  const text = `The ${plan} plan ${TEXTS[kind](cap)} and try again.`;
  return refusal("PlanLimitExceeded", text, { plan, cap, kind });
}

/** D1 binds no Infinity. */
export const bindable = (cap: number): number => Math.min(cap, Number.MAX_SAFE_INTEGER);

/** A failed snapshot holds nothing, and a deleted one is gone for its org though its host has not removed it yet. */
const SNAPSHOTS = "FROM snapshots WHERE org_id = ?1 AND deleted_at IS NULL AND state <> 'failed'";
const VOLUMES = "FROM volumes WHERE org_id = ?1";
const TEMPLATES = "FROM templates WHERE org_id = ?1 AND state <> 'failed'";

/** Statements that are true while an org (?1) has fewer than `cap` of a kind. */
export const hasRoomFor = {
  snapshot: (cap: string) => `(SELECT count(*) ${SNAPSHOTS}) < ${cap}`,
  volume: (cap: string) => `(SELECT count(*) ${VOLUMES}) < ${cap}`,
  template: (cap: string) => `(SELECT count(*) ${TEMPLATES}) < ${cap}`,
};

/** Counts and bytes of an org's rows in D1. The machines and their records are counted by the org's object. */
export interface KeptRows {
  snapshots: number;
  volumes: number;
  templates: number;
  snapshotBytes: number;
  volumeBytes: number;
}

/** Counts what an org keeps in rows of D1. */
export async function keptRows(db: D1Database, org: string): Promise<KeptRows> {
  const sql = `SELECT
    (SELECT count(*) ${SNAPSHOTS}) AS snapshots,
    (SELECT count(*) ${VOLUMES}) AS volumes,
    (SELECT count(*) ${TEMPLATES}) AS templates,
    (SELECT coalesce(sum(size_bytes), 0) ${SNAPSHOTS}) AS snapshotBytes,
    (SELECT coalesce(sum(stored_bytes), 0) ${VOLUMES}) AS volumeBytes`;
  const row = await ask(db, () => db.prepare(sql).bind(org).first<KeptRows>());
  return row ?? { snapshots: 0, volumes: 0, templates: 0, snapshotBytes: 0, volumeBytes: 0 };
}
