import * as z from "zod";

const MOST_CHARACTERS = 500;

/** The machine that a tool works with. What each tool says of it, every conversation pays for: the server's instructions say it once. */
export const sessionId = z
  .string()
  .refine((id) => id !== "" && id.length <= MOST_CHARACTERS, "is no id of a machine");
