import { LIMITS } from "@svc/contract/limits.ts";
import { GIB_BYTES } from "@svc/contract/plans.ts";
import type { VmKind } from "@svc/contract/vm/machine.ts";
import type { GoneReason, SandboxState } from "@svc/contract/vm/sandbox.ts";
import { hasLabels } from "../../control-plane/labels.ts";
import type {
  KeptCaps,
  KeptMachines,
  SandboxClaim,
  SandboxPage,
  SandboxQuery,
  SandboxReserved,
  SandboxView,
} from "./messages.ts";

interface Row extends Record<string, SqlStorageValue> {
  n: number;
  id: string;
  kind: VmKind;
  state: SandboxState;
  metadata: string;
  template: string;
  created_at: number;
  expires_at: number;
  cpu: number;
  mem_mb: number;
  disk_gb: number;
  close_reason: GoneReason | null;
  gone_at: number | null;
  record_id: string | null;
  record_bytes: number | null;
  resolution: string | null;
}

const SCHEMA = `
CREATE TABLE IF NOT EXISTS sandboxes (
  n INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, kind TEXT NOT NULL,
  state TEXT NOT NULL, metadata TEXT NOT NULL, template TEXT NOT NULL, created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL, cpu INTEGER NOT NULL, mem_mb INTEGER NOT NULL,
  disk_gb INTEGER NOT NULL, close_reason TEXT, gone_at INTEGER, lapses_at INTEGER,
  record_id TEXT, record_bytes INTEGER, resolution TEXT);
CREATE INDEX IF NOT EXISTS sandboxes_state ON sandboxes (state, n);
CREATE INDEX IF NOT EXISTS sandboxes_alive ON sandboxes (n) WHERE state <> 'gone';`;

/** Columns that tables of earlier versions lack. */
const ADDED = { record_id: "TEXT", record_bytes: "INTEGER", resolution: "TEXT" };

/** Machines that their org keeps. A machine that is being released is kept no more. */
const KEPT = "state IN ('starting', 'running', 'paused')";

/** How long a row lives beyond its idle window at most, whoever failed to say that its sandbox is gone. */
const overdueMs = LIMITS.unpausableKeptMs + LIMITS.overdueMs;

/** An org's sandboxes: reservations against its plan, and the index behind GET /sandboxes, one row each. */
export class OrgSandboxes {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    sql.exec(SCHEMA);
    const columns = sql.exec<{ name: string }>("PRAGMA table_info(sandboxes)").toArray();
    const known = new Set(columns.map(({ name }) => name));
    for (const [name, type] of Object.entries(ADDED))
      if (!known.has(name)) sql.exec(`ALTER TABLE sandboxes ADD COLUMN ${name} ${type}`);
  }

  /** Takes one of `cap` places. Sandboxes that are paused or being released hold none. */
  reserve({ view, cap, kept, lapsesAt }: SandboxClaim): SandboxReserved {
    this.#sweep(Date.now());
    const refused = this.#full(kept, view.id) ?? this.#refusal(cap, view.id);
    if (refused) return refused;
    this.#sql.exec(
      `INSERT INTO sandboxes (id, kind, state, metadata, template, created_at, expires_at, cpu, mem_mb,
       disk_gb, lapses_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      view.id,
      view.kind,
      view.state,
      JSON.stringify(view.metadata),
      view.template,
      view.createdAt,
      view.expiresAt,
      view.cpu,
      view.memMb,
      view.diskGb,
      lapsesAt,
    );
    return { reserved: true };
  }

  /** Takes one of `cap` places again, for a paused sandbox that is to run. */
  resume(id: string, { cap, kept }: Pick<SandboxClaim, "cap" | "kept">): SandboxReserved {
    const refused = this.#full(kept, id) ?? this.#refusal(cap, id);
    if (refused) return refused;
    this.#sql.exec("UPDATE sandboxes SET state = 'running' WHERE id = ? AND state = 'paused'", id);
    return { reserved: true };
  }

  /** The cap that everything else that the org keeps has reached already. */
  #full({ pausedVms, storedGib, elsewhereBytes }: KeptCaps, id: string): SandboxReserved | null {
    const { machines, recordBytes } = this.kept(id);
    if (machines >= pausedVms)
      return { reserved: false, full: { kind: "pausedVm", cap: pausedVms } };
    if (recordBytes + elsewhereBytes < storedGib * GIB_BYTES) return null;
    return { reserved: false, full: { kind: "storage", cap: storedGib } };
  }

  /** Counts the machines of the org and the bytes of their records; the machine `but` is left out. */
  kept(but = ""): KeptMachines {
    const where = `${KEPT} AND (lapses_at IS NULL OR lapses_at >= ?) AND id <> ?`;
    // Of a record that several shares have in common only one counts.
    const { machines, recordBytes } = this.#sql
      .exec<{ machines: number; recordBytes: number }>(
        `SELECT coalesce(sum(machines), 0) AS machines, coalesce(sum(bytes), 0) AS recordBytes FROM (
           SELECT count(*) AS machines, max(record_bytes) AS bytes FROM sandboxes
           WHERE ${where} GROUP BY record_id)`,
        Date.now(),
        but,
      )
      .one();
    return { machines, recordBytes };
  }

  /** Who holds the places, when others hold all of them. */
  #refusal(cap: number, id: string): SandboxReserved | null {
    const sql = "SELECT id FROM sandboxes WHERE state IN ('starting', 'running') AND id <> ?";
    const live = this.#sql.exec<{ id: string }>(sql, id).toArray();
    if (live.length < cap) return null;
    return { reserved: false, holders: live.slice(0, LIMITS.holdersListed).map((row) => row.id) };
  }

  /** Writes the state of a sandbox: false when its claim has lapsed, or it is gone already. */
  note(view: SandboxView): boolean {
    const { rowsWritten } = this.#sql.exec(
      `UPDATE sandboxes SET state = ?, expires_at = ?, cpu = ?, mem_mb = ?, disk_gb = ?,
       close_reason = ?, gone_at = ?, record_id = ?, record_bytes = ?, resolution = ?, lapses_at = NULL WHERE id = ? AND state <> 'gone'`,
      view.state,
      view.expiresAt,
      view.cpu,
      view.memMb,
      view.diskGb,
      view.closeReason,
      view.goneAt,
      view.record?.id ?? null,
      view.record?.sizeBytes ?? null,
      view.resolution,
      view.id,
    );
    return rowsWritten > 0;
  }

  /** The ids of all sandboxes that are not gone. */
  live(): string[] {
    const sql = "SELECT id FROM sandboxes WHERE state <> 'gone'";
    return this.#sql
      .exec<{ id: string }>(sql)
      .toArray()
      .map((row) => row.id);
  }

  /** Forgets a sandbox whose create failed. */
  drop(id: string): void {
    this.#sql.exec("DELETE FROM sandboxes WHERE id = ? AND state <> 'gone'", id);
  }

  /** Newest first; without a state in the query, gone sandboxes are left out. A cursor that was never given means the first page. */
  page({ limit, cursor, state, kind, metadata }: SandboxQuery): SandboxPage {
    const now = Date.now();
    const before = /^[0-9a-z]{1,10}$/.test(cursor ?? "") ? Number.parseInt(cursor ?? "", 36) : null;
    const filters: [string, ...SqlStorageValue[]][] = [
      state === null ? ["state <> 'gone'"] : ["state = ?", state],
      ["(gone_at IS NULL OR gone_at > ?)", now - LIMITS.goneReadableMs],
      ["(lapses_at IS NULL OR lapses_at > ?)", now],
      ...(kind === null ? [] : [["kind = ?", kind] as [string, string]]),
      ...(before === null ? [] : [["n < ?", before] as [string, number]]),
      [hasLabels("sandboxes"), JSON.stringify(metadata)],
    ];
    const where = filters.map(([text]) => text).join(" AND ");
    const values = filters.flatMap(([, ...bound]) => bound);
    const sql = `SELECT * FROM sandboxes WHERE ${where} ORDER BY n DESC LIMIT ?`;
    const rows = this.#sql.exec<Row>(sql, ...values, limit + 1).toArray();
    const page = rows.slice(0, limit);
    const last = rows.length > limit ? page.at(-1) : undefined;
    return { sandboxes: page.map(toView), nextCursor: last ? last.n.toString(36) : null };
  }

  /** Removes lapsed claims and sandboxes gone for long, and ends those far beyond their idle window: the backstop of every other rule. */
  #sweep(now: number): void {
    this.#sql.exec("DELETE FROM sandboxes WHERE lapses_at < ?", now);
    this.#sql.exec("DELETE FROM sandboxes WHERE gone_at < ?", now - LIMITS.goneReadableMs);
    this.#sql.exec(
      `UPDATE sandboxes SET state = 'gone', close_reason = 'idle', gone_at = ?
       WHERE state IN ('starting', 'running', 'releasing') AND expires_at < ?`,
      now,
      now - overdueMs,
    );
  }
}

const recordOf = ({ record_id: id, record_bytes: sizeBytes }: Row): SandboxView["record"] =>
  id === null ? null : { id, sizeBytes: sizeBytes ?? 0 };

function toView(row: Row): SandboxView {
  const { id, kind, state, template, cpu } = row;
  return {
    id,
    kind,
    state,
    template,
    cpu,
    // Written by this class alone, from the contract's type.
    metadata: JSON.parse(row.metadata) as Record<string, string>,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    memMb: row.mem_mb,
    diskGb: row.disk_gb,
    resolution: row.resolution,
    closeReason: row.close_reason,
    goneAt: row.gone_at,
    record: recordOf(row),
  };
}
