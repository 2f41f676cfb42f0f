import type { BrowserKind, CloseReason } from "@svc/contract/browser/session.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import type {
  Ending,
  Reserved,
  SessionClaim,
  SessionHold,
  SessionLine,
  SessionPage,
  SessionQuery,
} from "./messages.ts";

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

const forgetEveryMs = 3_600_000;

/** Long after its deadline, and its session has not said how it ended. */
const OVERDUE = "ended_at IS NOT NULL AND status IS NULL";

/** The rows that may have a status: of those that are not ended for certain their sessions know more. */
const FILTERS = {
  all: "TRUE",
  live: "status IS NULL",
  released: `(status = 'released' OR ${OVERDUE})`,
  expired: `(status = 'expired' OR ${OVERDUE})`,
};

const UNLAPSED = "(lapses_at IS NULL OR lapses_at >= ?1)";

const SCHEMA = `
CREATE TABLE IF NOT EXISTS claims (
  n INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, kind TEXT NOT NULL,
  browser_kind TEXT NOT NULL, created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL,
  lapses_at INTEGER, status TEXT, close_reason TEXT, ended_at INTEGER);
CREATE INDEX IF NOT EXISTS claims_live ON claims (kind) WHERE ended_at IS NULL;
CREATE INDEX IF NOT EXISTS claims_ended ON claims (ended_at) WHERE ended_at IS NOT NULL;`;

/** An org's sessions: reservations against its plan, and the index behind GET /sessions, one row each. */
export class OrgSessions {
  readonly #sql: SqlStorage;
  /** When ended sessions are forgotten again. */
  #forgetAt = 0;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    sql.exec(SCHEMA);
  }

  reserve(claim: SessionClaim): Reserved {
    const now = Date.now();
    if (now >= this.#forgetAt) this.#forgetEnded(now);
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

  #live(kind: SessionClaim["kind"]): { id: string }[] {
    const sql = "SELECT id FROM claims WHERE kind = ? AND ended_at IS NULL";
    return this.#sql.exec<{ id: string }>(sql, kind).toArray();
  }

  #forgetEnded(now: number): void {
    this.#forgetAt = now + forgetEveryMs;
    this.#sql.exec("DELETE FROM claims WHERE ended_at < ?", now - LIMITS.endedListedMs);
    // The list must not name void claims for ever.
    this.#endVoid(now);
  }

  /** The backstop of every other rule: no create that died, and no session long after its deadline, holds a slot. */
  #endVoid(now: number): void {
    this.#sql.exec("DELETE FROM claims WHERE lapses_at < ? AND ended_at IS NULL", now);
    this.#sql.exec(
      "UPDATE claims SET ended_at = expires_at WHERE ended_at IS NULL AND expires_at < ?",
      now - LIMITS.overdueMs,
    );
  }

  /** Keeps the reservation of a session that lives, a lapsed one too: a session that lives holds a slot. */
  keep({ id, kind, browserKind, createdAt, expiresAt }: SessionHold): void {
    this.#sql.exec(
      `INSERT INTO claims (id, kind, browser_kind, created_at, expires_at) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (id) DO UPDATE SET lapses_at = NULL,
         ended_at = CASE WHEN status IS NULL THEN NULL ELSE ended_at END`,
      id,
      kind,
      browserKind,
      createdAt,
      expiresAt,
    );
  }

  /** Frees the reservation of a session that ended. Its own word counts, whatever stands here. */
  end({ id, kind, browserKind, createdAt, expiresAt }: SessionHold, ending: Ending): void {
    this.#sql.exec(
      `INSERT INTO claims (id, kind, browser_kind, created_at, expires_at, status, close_reason, ended_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (id) DO UPDATE SET lapses_at = NULL, status = excluded.status,
         close_reason = excluded.close_reason, ended_at = excluded.ended_at`,
      id,
      kind,
      browserKind,
      createdAt,
      expiresAt,
      ending.status,
      ending.closeReason,
      ending.endedAt,
    );
  }

  /** Frees the reservation of a session whose create failed. */
  drop(id: string): void {
    this.#sql.exec("DELETE FROM claims WHERE id = ? AND status IS NULL", id);
  }

  /** The line of one session; null when there is none. */
  line(id: string): SessionLine | null {
    const [row] = this.#sql
      .exec<Row>(`SELECT * FROM claims WHERE ${UNLAPSED} AND id = ?2`, Date.now(), id)
      .toArray();
    return row ? toLine(row) : null;
  }

  /** Newest first. A cursor that was never given means the first page. */
  page({ limit, cursor, status }: SessionQuery): SessionPage {
    const before = /^[0-9a-z]{1,10}$/.test(cursor ?? "") ? Number.parseInt(cursor ?? "", 36) : null;
    const rows = this.#sql
      .exec<Row>(
        `SELECT * FROM claims WHERE kind = 'browser' AND ${UNLAPSED} AND (?2 IS NULL OR n < ?2)
         AND ${FILTERS[status ?? "all"]} ORDER BY n DESC LIMIT ?3`,
        Date.now(),
        before,
        limit + 1,
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
    isOverdue: ended === null && endedAt !== null,
  };
}
