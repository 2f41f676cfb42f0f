import { ApiError } from "@svc/contract/errors.ts";

/** Runs a D1 query; a failing or missing database is the control plane being unavailable, whatever it says. */
export async function ask<T>(query: () => Promise<T>): Promise<T> {
  try {
    return await query();
  } catch (error) {
    console.error(JSON.stringify({ level: "error", event: "d1_failed", error: String(error) }));
    throw new ApiError("ControlPlaneUnavailable", "The control plane is unavailable. Try again.");
  }
}
