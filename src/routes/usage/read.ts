import { ApiError } from "@svc/contract/errors.ts";
import { usageOf } from "../../../control-plane/usage-report.ts";
import type { AppContext, Handler } from "../../context.ts";

export const readUsage: Handler = async (c) => {
  const now = Date.now();
  const from = timeOf(c, "from") ?? startOfMonth(now);
  const to = timeOf(c, "to") ?? Math.max(now, from);
  if (from > to) throw new ApiError("ValidationError", "from: is after to", { field: "from" });
  return c.json(await usageOf(c.env.DB, c.get("caller").orgId, { from, to }, now));
};

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
