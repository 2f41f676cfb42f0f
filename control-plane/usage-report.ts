import { LIMITS } from "@svc/contract/limits.ts";
import { RATES } from "@svc/contract/plans.ts";
import type { Usage, UsageSegment } from "@svc/contract/usage.ts";
import { ask } from "./database.ts";
import { creditLeft } from "./usage.ts";

/** A stretch of time, in ms since the epoch. */
export interface Stretch {
  from: number;
  to: number;
}

const HOUR_S = 3600;

// Seconds of a segment within the stretch; what still runs runs until now.
const SECONDS = `max(0, min(coalesce(ended_at, ?4), ?3) - max(started_at, ?2)) / 1000.0`;
const TOUCHING = `org_id = ?1 AND started_at < ?3 AND coalesce(ended_at, ?4) > ?2`;

interface Sums {
  browser: number | null;
  vcpu: number | null;
  gib: number | null;
}

interface Row {
  id: string;
  kind: "browser" | "vm";
  started_at: number;
  ended_at: number | null;
  cpu: number | null;
  mem_mb: number | null;
  seconds: number;
}

/** What an org used in a stretch of time, and what is left of its credit now. */
export async function usageOf(
  db: D1Database,
  orgId: string,
  { from, to }: Stretch,
  now: number,
): Promise<Omit<Usage, "kept">> {
  const bound = (sql: string) => db.prepare(sql).bind(orgId, from, to, now);
  const [sums, rows] = await ask(db, () =>
    Promise.all([
      bound(
        `SELECT sum(iif(kind = 'browser', ${SECONDS}, 0)) AS browser,
           sum(coalesce(cpu, 0) * ${SECONDS}) AS vcpu,
           sum(coalesce(mem_mb, 0) / 1024.0 * ${SECONDS}) AS gib
         FROM usage_segments WHERE ${TOUCHING}`,
      ).first<Sums>(),
      bound(
        `SELECT *, ${SECONDS} AS seconds FROM usage_segments WHERE ${TOUCHING}
         ORDER BY started_at DESC, id LIMIT ${LIMITS.usageSegments}`,
      ).all<Row>(),
    ]),
  );
  const [browserSeconds, vcpuSeconds, memGibSeconds] = [
    sums?.browser ?? 0,
    sums?.vcpu ?? 0,
    sums?.gib ?? 0,
  ];
  return {
    from: new Date(from).toISOString(),
    to: new Date(to).toISOString(),
    browserSeconds,
    vcpuSeconds,
    memGibSeconds,
    cents: centsOf({ browserSeconds, vcpuSeconds, memGibSeconds }),
    creditCents: await creditLeft(db, orgId, now),
    segments: rows.results.map(toSegment),
  };
}

function toSegment(row: Row): UsageSegment {
  const { id, kind, started_at: startedAt, ended_at: endedAt, cpu, mem_mb: memMb, seconds } = row;
  return {
    // A VM's spans are numbered behind its id.
    id: id.split(" ")[0] ?? id,
    kind,
    startedAt: new Date(startedAt).toISOString(),
    endedAt: endedAt === null ? null : new Date(endedAt).toISOString(),
    cents: centsOf({
      browserSeconds: kind === "browser" ? seconds : 0,
      vcpuSeconds: (cpu ?? 0) * seconds,
      memGibSeconds: ((memMb ?? 0) / 1024) * seconds,
    }),
  };
}

type Used = Pick<Usage, "browserSeconds" | "vcpuSeconds" | "memGibSeconds">;

const centsOf = ({ browserSeconds, vcpuSeconds, memGibSeconds }: Used): number =>
  (browserSeconds * RATES.browserHour +
    vcpuSeconds * RATES.vcpuHour +
    memGibSeconds * RATES.gibHour) /
  HOUR_S;
