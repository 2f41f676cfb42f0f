import type { Running } from "./commands.ts";
import { type FollowOptions, follow } from "./follow.ts";

const LONGEST_TIMER_MS = 0x7fff_ffff;

/** A command that lives as long as its request: it ends with its time, and when nobody waits for it any more. */
export async function foreground(
  running: Running,
  timeoutMs: number | undefined,
  options: FollowOptions,
) {
  const { process } = running;
  const kill = () => process?.signal("SIGKILL");
  options.signal.addEventListener("abort", kill, { once: true });
  if (options.signal.aborted) kill();
  const timeOut = () => process?.timeOut();
  const timer =
    timeoutMs === undefined ? null : setTimeout(timeOut, Math.min(timeoutMs, LONGEST_TIMER_MS));
  try {
    await follow(running.log, options);
    // A follower that left early leaves a command that is being killed.
    return await running.ended;
  } finally {
    if (timer) clearTimeout(timer);
  }
}
