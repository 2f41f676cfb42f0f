import { TEMPLATE_LIMITS } from "@svc/contract/vm/template-limits.ts";
import type { TemplateLogEntry } from "@svc/contract/vm/template.ts";
import { Signal } from "../live/signal.ts";

interface LogRow extends Record<string, SqlStorageValue> {
  n: number;
  ts: number;
  step: number;
  stream: TemplateLogEntry["stream"];
  line: string;
}

/** The log of a build. Of a long log the newest lines stay. */
export class BuildLog {
  /** Sent with new lines, and when the build is over. */
  readonly news = new Signal();
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  begin(): void {
    this.#sql.exec(
      `CREATE TABLE log (n INTEGER PRIMARY KEY AUTOINCREMENT, ts INTEGER NOT NULL,
       step INTEGER NOT NULL, stream TEXT NOT NULL, line TEXT NOT NULL)`,
    );
  }

  write(entries: TemplateLogEntry[]): void {
    if (entries.length === 0) return;
    for (const { ts, step, stream, line } of entries)
      this.#sql.exec(
        "INSERT INTO log (ts, step, stream, line) VALUES (?, ?, ?, ?)",
        ts,
        step,
        stream,
        line.slice(0, TEMPLATE_LIMITS.lineCharacters),
      );
    const sql = "DELETE FROM log WHERE n <= (SELECT max(n) FROM log) - ?";
    this.#sql.exec(sql, TEMPLATE_LIMITS.logLines);
    this.news.send();
  }

  /** Adds a line of the service itself. */
  say(line: string, step = 0): void {
    this.write([{ ts: Date.now(), step, stream: "system", line }]);
  }

  /** The same, unless it is what the log says last. */
  sayOnce(line: string): void {
    const sql = "SELECT line FROM log ORDER BY n DESC LIMIT 1";
    const [last] = this.#sql.exec<{ line: string }>(sql).toArray();
    if (last?.line !== line) this.say(line);
  }

  /** A page of the log, from `offset` on or from the oldest line that there is. */
  read(offset: number): { entries: TemplateLogEntry[]; nextOffset: number } {
    const sql = "SELECT * FROM log WHERE n > ? ORDER BY n LIMIT ?";
    const rows = this.#sql.exec<LogRow>(sql, offset, TEMPLATE_LIMITS.pageLines).toArray();
    const entries = rows.map(({ ts, step, stream, line }) => ({ ts, step, stream, line }));
    return { entries, nextOffset: rows.at(-1)?.n ?? offset };
  }
}
