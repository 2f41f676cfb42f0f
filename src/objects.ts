import { ApiError } from "@svc/contract/errors.ts";

/** Asks a Durable Object. One that throws or cannot be reached is a passing fault: 503, try again. */
export async function reach<P>(call: () => P): Promise<Awaited<P>> {
  try {
    return await call();
  } catch (error) {
    console.error(JSON.stringify({ level: "error", event: "object_failed", error: String(error) }));
    throw new ApiError("ObjectUnavailable", "A part of the service is restarting. Try again.");
  }
}
