import { logOf } from "@svc/contract/log.ts";

const log = logOf("durable-objects");

/**
 * What work comes to; null when it fails, with a line in the log under `event` that has the reason. For work whose failure
 * is no news for whoever asked: it is repeated, mended by somebody else, or told in other words.
 */
export async function tried<T>(event: string, work: Promise<T>): Promise<T | null> {
  try {
    return await work;
  } catch (error) {
    log.warn(event, { reason: error });
    return null;
  }
}
