import type { BuildClaim, Reserved } from "./messages.ts";

/** Builds of an org that are under way: they have a cap of their own, apart from machines. */
export class OrgBuilds {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    sql.exec("CREATE TABLE IF NOT EXISTS builds (id TEXT PRIMARY KEY, lapses_at INTEGER NOT NULL)");
  }

  reserve({ id, cap, lapsesAt }: BuildClaim): Reserved {
    this.#sql.exec("DELETE FROM builds WHERE lapses_at < ?", Date.now());
    const live = this.#sql.exec<{ id: string }>("SELECT id FROM builds").toArray();
    if (live.length >= cap) return { reserved: false, holders: live.map((row) => row.id) };
    this.#sql.exec("INSERT INTO builds VALUES (?, ?)", id, lapsesAt);
    return { reserved: true };
  }

  drop(id: string): void {
    this.#sql.exec("DELETE FROM builds WHERE id = ?", id);
  }
}
