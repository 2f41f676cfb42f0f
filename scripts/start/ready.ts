import * as z from "zod";

/** One line of what this machine can do and what not, and why. */
export const Row = z.object({ what: z.string(), on: z.boolean(), note: z.string() });
export type Row = z.infer<typeof Row>;

/** What a child sends once its HTTP front answers. */
export const Ready = z.object({
  type: z.literal("ready"),
  url: z.url(),
  table: z.array(Row).default([]),
});
export type Ready = z.infer<typeof Ready>;

/** What a host sends after that, once the gateway would serve a create of each kind that is on without a wait. */
export const Serving = Ready.extend({ type: z.literal("serving") });
export type Serving = z.infer<typeof Serving>;
