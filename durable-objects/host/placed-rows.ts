import type { Placed } from "./reconcile.ts";

const SCHEMA = `CREATE TABLE IF NOT EXISTS placed (
  id TEXT PRIMARY KEY, boot_id TEXT NOT NULL, seq INTEGER NOT NULL, reported TEXT)`;

/** The sessions or machines that the gateway has placed on a host, a row each. */
export class PlacedRows {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    sql.exec(SCHEMA);
  }

  all(): Placed[] {
    return this.#sql.exec<Placed>("SELECT * FROM placed").toArray();
  }

  /** Enters a placement, unless a heartbeat has named it before. */
  enter({ id, boot_id: bootId, seq }: Placed): void {
    this.#sql.exec("INSERT OR IGNORE INTO placed VALUES (?, ?, ?, NULL)", id, bootId, seq);
  }

  /** Notes what the host last said of a placement, once its session or sandbox has taken that. */
  note({ id, boot_id: bootId, seq, reported }: Placed): void {
    const sql = "INSERT OR REPLACE INTO placed VALUES (?, ?, ?, ?)";
    this.#sql.exec(sql, id, bootId, seq, reported);
  }

  /** From now on all that the host reports is news. */
  unreport(): void {
    this.#sql.exec("UPDATE placed SET reported = NULL");
  }

  forget(id: string): void {
    this.#sql.exec("DELETE FROM placed WHERE id = ?", id);
  }
}
