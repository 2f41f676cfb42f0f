import * as z from "zod";

const MOST_CHARACTERS = 500;

/** The machine that a tool works with. Every conversation would pay for a description in each tool: the server's instructions have it. */
export const sessionId = z
  .string()
  .refine((id) => id !== "" && id.length <= MOST_CHARACTERS, "is no id of a machine");
