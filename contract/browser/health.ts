import * as z from "zod";

const count = z.int().nonnegative();

/** Slots of one kind over all registered pools. */
export const KindHealth = z.object({ idle: count, busy: count, recycling: count, pools: count });
export type KindHealth = z.infer<typeof KindHealth>;

/** 200 of GET /health. `ok` is liveness; `saturated` is true exactly when nothing is idle. */
export const Health = z.object({
  ok: z.literal(true),
  ...KindHealth.shape,
  saturated: z.boolean(),
  fast: KindHealth,
  stealth: KindHealth,
});
export type Health = z.infer<typeof Health>;
