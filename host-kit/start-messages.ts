import * as z from "zod";

/** One line of the banner of `npm start`: what this machine can do or not, and why. */
export const TableLine = z.object({ what: z.string(), on: z.boolean(), note: z.string() });
export type TableLine = z.infer<typeof TableLine>;

const told = { url: z.url(), table: z.array(TableLine).default([]) };

/** What a child of the supervisor sends once its HTTP front answers. */
export const Ready = z.object({ type: z.literal("ready"), ...told });
export type Ready = z.infer<typeof Ready>;

/** What a host sends after that, once the gateway would serve a create of each kind that is on without a wait. */
export const Serving = z.object({ type: z.literal("serving"), ...told });
export type Serving = z.infer<typeof Serving>;

/** Tells the supervisor how far this process is. Without a supervisor, or after its end, nobody is told. */
export function tell(
  type: "ready" | "serving",
  { url, table = [] }: { url: string; table?: TableLine[] },
): void {
  if (process.connected) process.send?.({ type, url, table } satisfies Ready | Serving);
}
