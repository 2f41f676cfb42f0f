import { writeFileSync } from "node:fs";
import { cpus, loadavg, totalmem } from "node:os";
import { short } from "./stats.ts";

/** A bound the service has set itself, and what was measured. */
export interface Goal {
  what: string;
  got: number;
  limit: number;
  unit: string;
  /** Which side of the limit is good; `below` unless it says otherwise. */
  wanted?: "below" | "above";
}

type Cell = string | number;

/** What a bench found: tables for people on stdout, the same and the raw samples as JSON. */
export class Report {
  readonly #name: string;
  readonly #startedAt = new Date();
  readonly #loadAtStart = loadavg();
  readonly #goals: Goal[] = [];
  readonly #data: Record<string, unknown> = {};

  constructor(name: string) {
    this.#name = name;
    console.log(`# ${name}\n\n${machine()}\nload at start ${loads(this.#loadAtStart)}`);
  }

  table(title: string, header: string[], rows: Cell[][]): void {
    const cells = rows.map((row) => row.map((cell) => cellText(cell)));
    const widths = header.map((head, at) =>
      Math.max(head.length, ...cells.map((row) => row[at]?.length ?? 0)),
    );
    const line = (row: string[]): string =>
      `| ${row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(" | ")} |`;
    const rule = line(widths.map((width) => "-".repeat(width)));
    console.log(`\n## ${title}\n\n${[line(header), rule, ...cells.map(line)].join("\n")}`);
  }

  /** Raw numbers, for the JSON only. */
  keep(name: string, value: unknown): void {
    this.#data[name] = value;
  }

  goal(...goals: Goal[]): void {
    this.#goals.push(...goals);
  }

  /** Prints the goals and the load at the end, and writes the JSON when a file is named. */
  finish(jsonFile: string | null): void {
    const goals = this.#goals.map((goal) => ({ ...goal, met: isMet(goal) }));
    if (goals.length > 0) this.table("Must reach", ["goal", "got", "limit", ""], goals.map(row));
    const load = { start: this.#loadAtStart, end: loadavg() };
    console.log(`\nload at end ${loads(load.end)}`);
    if (jsonFile === null) return;
    const { startedAt, endedAt } = { startedAt: this.#startedAt, endedAt: new Date() };
    const all = { bench: this.#name, startedAt, endedAt, load, goals, ...this.#data };
    writeFileSync(jsonFile, `${JSON.stringify(all, null, 1)}\n`);
  }
}

function isMet({ got, limit, wanted }: Goal): boolean {
  return wanted === "above" ? got >= limit : got <= limit;
}

function row(goal: Goal & { met: boolean }): Cell[] {
  const { what, got, limit, unit, wanted, met } = goal;
  const sign = wanted === "above" ? ">=" : "<=";
  return [what, `${short(got)} ${unit}`, `${sign} ${limit} ${unit}`, met ? "met" : "MISSED"];
}

function cellText(cell: Cell): string {
  return typeof cell === "number" ? short(cell) : cell.replaceAll("|", "\\|");
}

function loads(values: number[]): string {
  return values.map((value) => value.toFixed(2)).join(" ");
}

function machine(): string {
  const memory = Math.round(totalmem() / 1024 ** 3);
  return `${cpus().length} cores, ${memory} GiB, Node ${process.versions.node}`;
}
