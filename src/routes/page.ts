import { LIMITS } from "@svc/contract/limits.ts";
import type { AppContext } from "../context.ts";

/** Rows of a page: `limit`, 1 to 100; what is no number is the default. */
export function pageLimit(c: AppContext): number {
  const asked = Number.parseInt(c.req.query("limit") ?? "", 10);
  const limit = Number.isNaN(asked) ? LIMITS.pageDefault : asked;
  return Math.min(Math.max(limit, 1), LIMITS.pageMaximum);
}
