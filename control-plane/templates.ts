import { TemplateState } from "@svc/contract/vm/template.ts";
import { VmKind } from "@svc/contract/vm/machine.ts";
import { ask } from "./database.ts";
import { hasRoomFor } from "./kept.ts";

/** A custom template as its owner sees it. Times are ms since the epoch. */
export interface TemplateView {
  id: string;
  org: string;
  name: string;
  kind: VmKind;
  state: TemplateState;
  cpu: number;
  memMb: number;
  diskGb: number;
  /** Steps that are done, and how many there are. */
  step: number;
  steps: number;
  error: { step: number; message: string } | null;
  createdAt: number;
  readyAt: number | null;
}

interface TemplateRow {
  id: string;
  org_id: string;
  name: string;
  kind: string;
  state: string;
  cpu: number;
  mem_mb: number;
  disk_gb: number;
  step: number;
  steps: number;
  error_step: number | null;
  error_message: string | null;
  created_at: number;
  ready_at: number | null;
}

const COLUMNS = `org_id, id, name, kind, state, cpu, mem_mb, disk_gb, step, steps, error_step, error_message,
  created_at, ready_at`;
const MARKS = COLUMNS.split(",").map((_name, at) => `?${at + 1}`);

function valuesOf(view: TemplateView): (string | number | null)[] {
  const { id, org, name, kind, state, cpu, memMb, diskGb, step, steps, error } = view;
  const fault = [error?.step ?? null, error?.message ?? null];
  const times = [view.createdAt, view.readyAt];
  return [org, id, name, kind, state, cpu, memMb, diskGb, step, steps, ...fault, ...times];
}

/** Enters a new template; false when its org has `cap` of them already. */
export async function beginTemplate(
  db: D1Database,
  view: TemplateView,
  cap: number,
): Promise<boolean> {
  const sql = `INSERT INTO templates (${COLUMNS}) SELECT ${MARKS.join(", ")}
    WHERE ${hasRoomFor.template(`?${MARKS.length + 1}`)}`;
  const { meta } = await ask(db, () =>
    db
      .prepare(sql)
      .bind(...valuesOf(view), cap)
      .run(),
  );
  return meta.changes > 0;
}

/** Writes how a template stands. Late and repeated writes agree. */
export async function writeTemplate(db: D1Database, view: TemplateView): Promise<void> {
  const sql = `INSERT OR REPLACE INTO templates (${COLUMNS}) VALUES (${MARKS.join(", ")})`;
  await ask(db, () =>
    db
      .prepare(sql)
      .bind(...valuesOf(view))
      .run(),
  );
}

export async function removeTemplate(db: D1Database, id: string): Promise<void> {
  await ask(db, () => db.prepare("DELETE FROM templates WHERE id = ?").bind(id).run());
}

/** The templates of an org, newest first. */
export async function listTemplates(db: D1Database, orgId: string): Promise<TemplateView[]> {
  const { results } = await ask(db, () =>
    db
      .prepare("SELECT * FROM templates WHERE org_id = ? ORDER BY created_at DESC, id")
      .bind(orgId)
      .all<TemplateRow>(),
  );
  return results.map(toView);
}

function toView(row: TemplateRow): TemplateView {
  const { id, name, cpu, step, steps, error_step: at, error_message: message } = row;
  return {
    id,
    name,
    cpu,
    step,
    steps,
    org: row.org_id,
    kind: VmKind.parse(row.kind),
    state: TemplateState.parse(row.state),
    memMb: row.mem_mb,
    diskGb: row.disk_gb,
    error: at === null || message === null ? null : { step: at, message },
    createdAt: row.created_at,
    readyAt: row.ready_at,
  };
}
