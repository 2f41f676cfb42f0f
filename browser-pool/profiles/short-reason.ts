import { messageOf } from "@svc/host-kit/log.ts";

/** The first line of an error, shortened: the rest may quote the state. */
export const reasonOf = (error: unknown): string =>
  (messageOf(error).split("\n")[0] ?? "").slice(0, 100);
