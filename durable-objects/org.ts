import type { BrowserKind, CloseReason } from "@svc/contract/browser/session.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { DurableObject } from "cloudflare:workers";
import { type BuildClaim, OrgBuilds } from "./org/builds.ts";
import {
  OrgSandboxes,
  type SandboxClaim,
  type SandboxPage,
  type SandboxQuery,
} from "./org/sandboxes.ts";
import type { SandboxView } from "./sandbox/record.ts";

/** What a session asks of its org before it takes a slot anywhere. Sandboxes: org-sandboxes.ts. */
export interface Claim {
  id: string;
  kind: "browser";
  cap: number;
  browserKind: BrowserKind;
  createdAt: number;
  expiresAt: number;
  /** A claim not kept by then is void. */
  lapsesAt: number;
}
/** The claim of a session that has its slot. */
export type Kept = Omit<Claim, "cap" | "lapsesAt">;
export type Reserved = { reserved: true } | { reserved: false; holders: string[] };

/** How a session ended, for the list of its org. */
export interface Ending {
  status: "released" | "expired";
  closeReason: CloseReason;
  endedAt: number;
}

/** A line of the org's list of sessions. `status` is null while it lives: its own object knows more. */
export interface SessionLine {
  id: string;
  browserKind: BrowserKind;
  createdAt: number;
  expiresAt: number;
  ended: Ending | null;
}
export interface SessionPage {
  lines: SessionLine[];
  nextCursor: string | null;
}
export interface PageRequest {
  limit: number;
  cursor: string | null;
  status: "live" | "released" | "expired" | null;
}

interface Row extends Record<string, SqlStorageValue> {
  n: number;
  id: string;
  browser_kind: BrowserKind;
  created_at: number;
  expires_at: number;
  status: "released" | "expired" | null;
  close_reason: CloseReason | null;
  ended_at: number | null;
}

const tidyMs = 3_600_000;

const FILTERS = {
  all: "TRUE",
  live: "ended_at IS NULL",
  released: "status = 'released'",
  expired: "status = 'expired'",
};

const SCHEMA = `
CREATE TABLE IF NOT EXISTS claims (
  n INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, kind TEXT NOT NULL,
  browser_kind TEXT NOT NULL, created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL,
  lapses_at INTEGER, status TEXT, close_reason TEXT, ended_at INTEGER);
CREATE INDEX IF NOT EXISTS claims_live ON claims (kind) WHERE ended_at IS NULL;
CREATE INDEX IF NOT EXISTS claims_ended ON claims (ended_at) WHERE ended_at IS NOT NULL;`;

/**
 * Reservations of one org against its plan, and the index behind GET /sessions: one row a session.
 * A row counts against the cap from reserve until end or drop; the object is single-threaded, so
 * that for a cap N exactly N of any number of concurrent creates pass.
 */
export class OrgDO extends DurableObject<Env> {
  readonly #sql = this.ctx.storage.sql;
  readonly #sandboxes = new OrgSandboxes(this.#sql);
  readonly #builds = new OrgBuilds(this.#sql);
  /** When what nobody needs is looked for again. */
  #tidyAt = 0;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#sql.exec(SCHEMA);
  }

  reserve(claim: Claim): Reserved {
    const now = Date.now();
    if (now >= this.#tidyAt) this.#forgetEnded(now);
    if (this.#live(claim.kind).length >= claim.cap) this.#endVoid(now);
    const live = this.#live(claim.kind);
    if (live.length >= claim.cap) {
      return { reserved: false, holders: live.slice(0, LIMITS.holdersListed).map(({ id }) => id) };
    }
    this.#sql.exec(
      `INSERT INTO claims (id, kind, browser_kind, created_at, expires_at, lapses_at)
       VALUES (?, ?, ?, ?, ?, ?)`,
      claim.id,
      claim.kind,
      claim.browserKind,
      claim.createdAt,
      claim.expiresAt,
      claim.lapsesAt,
    );
    return { reserved: true };
  }

  #live(kind: Claim["kind"]): { id: string }[] {
    const sql = "SELECT id FROM claims WHERE kind = ? AND ended_at IS NULL";
    return this.#sql.exec<{ id: string }>(sql, kind).toArray();
  }

  #forgetEnded(now: number): void {
    this.#tidyAt = now + tidyMs;
    this.#sql.exec("DELETE FROM claims WHERE ended_at < ?", now - LIMITS.endedListedMs);
    // A list must not name them for ever.
    this.#endVoid(now);
  }

  /** The backstop of every other rule: no create that died, and nothing long after its deadline, holds a slot. */
  #endVoid(now: number): void {
    this.#sql.exec("DELETE FROM claims WHERE lapses_at < ? AND ended_at IS NULL", now);
    this.#sql.exec(
      `UPDATE claims SET status = 'expired', close_reason = 'expired', ended_at = expires_at
       WHERE ended_at IS NULL AND expires_at < ?`,
      now - LIMITS.overdueMs,
    );
  }

  /** Keeps the reservation of a session that lives, also one that has lapsed: what lives holds a slot. */
  keep({ id, kind, browserKind, createdAt, expiresAt }: Kept): void {
    this.#sql.exec(
      `INSERT INTO claims (id, kind, browser_kind, created_at, expires_at) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (id) DO UPDATE SET lapses_at = NULL`,
      id,
      kind,
      browserKind,
      createdAt,
      expiresAt,
    );
  }

  /** Frees the reservation of a session that ended. */
  end(id: string, ending: Ending): void {
    this.#sql.exec(
      `UPDATE claims SET status = ?, close_reason = ?, ended_at = ?, lapses_at = NULL
       WHERE id = ? AND ended_at IS NULL`,
      ending.status,
      ending.closeReason,
      ending.endedAt,
      id,
    );
  }

  /** Frees the reservation of a session that never was. */
  drop(id: string): void {
    this.#sql.exec("DELETE FROM claims WHERE id = ? AND ended_at IS NULL", id);
  }

  reserveSandbox(claim: SandboxClaim): Reserved {
    return this.#sandboxes.reserve(claim);
  }

  resumeSandbox(id: string, cap: number): Reserved {
    return this.#sandboxes.resume(id, cap);
  }

  /** Writes how a sandbox stands; false when its claim has lapsed, or it is gone already. */
  noteSandbox(view: SandboxView): boolean {
    return this.#sandboxes.note(view);
  }

  dropSandbox(id: string): void {
    this.#sandboxes.drop(id);
  }

  sandboxes(query: SandboxQuery): SandboxPage {
    return this.#sandboxes.page(query);
  }

  /** The ids of all that are not gone. */
  liveSandboxes(): string[] {
    return this.#sandboxes.live();
  }

  reserveBuild(claim: BuildClaim): Reserved {
    return this.#builds.reserve(claim);
  }

  dropBuild(id: string): void {
    this.#builds.drop(id);
  }

  /** Sessions, newest first. A cursor this object never gave is the first page. */
  sessions({ limit, cursor, status }: PageRequest): SessionPage {
    const before = /^[0-9a-z]{1,10}$/.test(cursor ?? "") ? Number.parseInt(cursor ?? "", 36) : null;
    const rows = this.#sql
      .exec<Row>(
        `SELECT * FROM claims WHERE kind = 'browser' AND (?1 IS NULL OR n < ?1)
         AND (lapses_at IS NULL OR lapses_at >= ?3)
         AND ${FILTERS[status ?? "all"]} ORDER BY n DESC LIMIT ?2`,
        before,
        limit + 1,
        Date.now(),
      )
      .toArray();
    const page = rows.slice(0, limit);
    const last = rows.length > limit ? page.at(-1) : undefined;
    return { lines: page.map(toLine), nextCursor: last ? last.n.toString(36) : null };
  }
}

function toLine(row: Row): SessionLine {
  const { status, close_reason: closeReason, ended_at: endedAt } = row;
  const ended = status && closeReason && endedAt !== null ? { status, closeReason, endedAt } : null;
  return {
    id: row.id,
    browserKind: row.browser_kind,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    ended,
  };
}
