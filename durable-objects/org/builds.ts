import type { Reserved } from "../org.ts";

/** What a build asks of its org before it is taken to any host. */
export interface BuildClaim {
  id: string;
  cap: number;
  /** Void then, whoever failed to free it. */
  lapsesAt: number;
}

/** Builds of an org that are under way: they hold no place of a machine's, but one of their own. */
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
