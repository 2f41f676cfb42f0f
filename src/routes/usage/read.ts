import { ApiError } from "@svc/contract/errors.ts";
import { GIB_BYTES, type Plan } from "@svc/contract/plans.ts";
import type { Usage } from "@svc/contract/usage.ts";
import { usageOf } from "../../../control-plane/usage-report.ts";
import { keptBy } from "../../../durable-objects/org/storage.ts";
import type { AppContext, Handler } from "../../context.ts";

export const readUsage: Handler = async (c) => {
  const now = Date.now();
  const from = timeOf(c, "from") ?? startOfMonth(now);
  const to = timeOf(c, "to") ?? Math.max(now, from);
  if (from > to) throw new ApiError("ValidationError", "from: is after to", { field: "from" });
  const { orgId, plan } = c.get("caller");
  const [used, kept] = await Promise.all([
    usageOf(c.env.DB, orgId, { from, to }, now),
    keptBy(c.env, orgId),
  ]);
  const body: Usage = { ...used, kept: keptOf(kept, plan) };
  return c.json(body);
};

/** What is kept, against the caps of a plan. */
function keptOf(kept: Awaited<ReturnType<typeof keptBy>>, plan: Plan): Usage["kept"] {
  const { recordBytes, snapshotBytes, volumeBytes } = kept;
  const gib = (bytes: number) => bytes / GIB_BYTES;
  return {
    machines: { used: kept.machines, cap: shown(plan.pausedVms) },
    snapshots: { used: kept.snapshots, cap: plan.snapshots },
    templates: { used: kept.templates, cap: plan.templates },
    volumes: { used: kept.volumes, cap: shown(plan.volumes) },
    gib: {
      used: gib(recordBytes + snapshotBytes + volumeBytes),
      cap: shown(plan.storedGib),
      machines: gib(recordBytes),
      snapshots: gib(snapshotBytes),
      volumes: gib(volumeBytes),
    },
  };
}

const shown = (cap: number): number | null => (cap === Infinity ? null : cap);

/** A day, or a time with its zone. Without a zone each reader would read a time differently. */
const ISO = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/;

function timeOf(c: AppContext, field: "from" | "to"): number | null {
  const text = c.req.query(field);
  if (text === undefined || text === "") return null;
  const at = ISO.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(at)) {
    const reason = `${field}: must be an ISO 8601 day or time with its zone`;
    throw new ApiError("ValidationError", reason, { field });
  }
  return at;
}

function startOfMonth(now: number): number {
  const date = new Date(now);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth());
}
