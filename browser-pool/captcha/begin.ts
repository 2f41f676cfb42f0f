import { type Log, messageOf } from "@svc/host-kit/log.ts";
import type { Slot } from "../slots/slot.ts";
import type { CaptchaSolverOptions } from "./solver.ts";

/** The provider of a pool, and what its sessions may cost. */
export type CaptchaMeans = Omit<CaptchaSolverOptions, "onEvent">;

/** Begins to solve the captchas of a session; says whether it has. A session without is placed all the same. */
export async function beginSolving(
  slot: Slot,
  means: CaptchaMeans | null,
  log: Log,
): Promise<{ active: boolean }> {
  if (!means?.provider.isAtWork) return { active: false };
  const { number } = slot;
  try {
    await slot.solveCaptchas({
      ...means,
      onEvent: ({ name, kind, ms, reason }) =>
        log.info({ slot: number, kind, ms, ...(reason && { reason }) }, name.replace(".", "_")),
    });
    return { active: true };
  } catch (error) {
    log.warn({ slot: number, reason: messageOf(error) }, "captcha_not_begun");
    return { active: false };
  }
}
