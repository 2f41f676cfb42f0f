import { reapDiscarded } from "../control-plane/discarded.ts";
import { letGoOfAll } from "./leaving.ts";

/** The cron job (wrangler.toml, triggers): deletes what nothing names any more, objects and snapshots. */
export async function runScheduled(_event: ScheduledController, env: Env): Promise<void> {
  const now = Date.now();
  const objects = await reapDiscarded(env.DB, env.OBJECTS, now);
  const snapshots = await letGoOfAll(env, now);
  console.log(JSON.stringify({ level: "info", event: "reaped", objects, snapshots }));
}
