import { reapDiscarded } from "../control-plane/discarded.ts";
import { forgetCopies } from "../control-plane/record-copies.ts";
import { reapVolumes } from "../control-plane/volumes.ts";
import { sweepOrphans } from "./orphans.ts";
import { letGoOfAll } from "./snapshot-removal.ts";

/** The cron job (wrangler.toml, triggers): deletes what nothing names any more, objects and snapshots. */
export async function runScheduled(_event: ScheduledController, env: Env): Promise<void> {
  const now = Date.now();
  const objects = await reapDiscarded(env.DB, env.OBJECTS, now);
  const volumes = await reapVolumes(env.DB, env.OBJECTS, now);
  const snapshots = await letGoOfAll(env, now);
  await forgetCopies(env.DB, now);
  const records = await sweepOrphans(env, now);
  const reaped = { objects, volumes, snapshots, records };
  console.log(JSON.stringify({ level: "info", event: "reaped", ...reaped }));
}
