import { LIMITS } from "@svc/contract/limits.ts";
import type { AppContext } from "../context.ts";

/** Rows of a page: `limit`, 1 to 100; a value that is no whole number means the default. */
export function pageLimit(c: AppContext): number {
  const text = c.req.query("limit") ?? "";
  const limit = /^-?\d+$/.test(text) ? Number(text) : LIMITS.pageDefault;
  return Math.min(Math.max(limit, 1), LIMITS.pageMaximum);
}
