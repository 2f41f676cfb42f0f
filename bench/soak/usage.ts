import { readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { DatabaseSync } from "node:sqlite";
import { LIMITS } from "@svc/contract/limits.ts";
import * as z from "zod";

const Row = z.object({ id: z.string(), ended_at: z.number().nullable() });

/** What the durable records say of the sessions of a soak. */
export interface Usage {
  segments: number;
  /** Without an end, although nothing runs any more. */
  open: number;
  /** Sessions whose create was answered and that have no segment. */
  missing: number;
}

const LOOK_MS = 1_000;
/**
 * A row is owed for a second at first, and for up to a minute once its writing has failed a few times. Where the alarm
 * of its owner was lost with a killed gateway, the cron job has the owner write it.
 */
const PATIENCE_MS = LIMITS.openSegmentMs + LIMITS.cronMs + 60_000;

/** Waits until every segment is written and closed, or for as long as that may take; the seconds that it took. */
export async function usageWritten(stateDir: string, created: string[]): Promise<number> {
  const began = performance.now();
  for (;;) {
    const { open, missing } = readUsage(stateDir, created);
    const waitedMs = performance.now() - began;
    if ((open === 0 && missing === 0) || waitedMs > PATIENCE_MS) return Math.round(waitedMs / 1000);
    await pause(LOOK_MS);
  }
}

/** Reads the segments from the database file of a service. */
export function readUsage(stateDir: string, created: string[]): Usage {
  const file = readdirSync(stateDir, { recursive: true, encoding: "utf8" }).find(
    hasSegments(stateDir),
  );
  if (file === undefined) throw new Error("no database holds usage_segments");
  const rows = z.array(Row).parse(query(join(stateDir, file), "SELECT * FROM usage_segments"));
  const known = new Set(rows.map(({ id }) => id));
  return {
    segments: rows.length,
    open: rows.filter((row) => row.ended_at === null).length,
    missing: created.filter((id) => !known.has(id)).length,
  };
}

const hasSegments = (stateDir: string) => (file: string) =>
  /d1.*\.sqlite$/i.test(file) &&
  query(join(stateDir, file), "SELECT 1 FROM sqlite_master WHERE name = 'usage_segments'").length >
    0;

function query(file: string, sql: string): unknown[] {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    return database.prepare(sql).all();
  } finally {
    database.close();
  }
}
