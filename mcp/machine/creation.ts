import type { Machine } from "@svc/sdk/machine.ts";
import { within } from "@svc/sdk/http/deadline.ts";
import * as z from "zod";

/** A size of a machine, which may be left out. */
export const size = ({ least, most }: { least: number; most: number }) =>
  z.int().min(least).max(most).optional();

/** Waits for a machine that is being made. A machine whose caller has gone is destroyed: it would be billed. */
export async function whenMade<Made extends Machine>(
  making: Promise<Made>,
  signal: AbortSignal,
): Promise<Made> {
  try {
    return await within({ signal }, () => making);
  } catch (error) {
    if (signal.aborted) await making.then((machine) => machine.kill()).catch(() => {});
    throw error;
  }
}
