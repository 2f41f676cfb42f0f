import { reapDiscarded } from "../control-plane/discarded.ts";
import { reapVolumes } from "../control-plane/volumes.ts";

/** The cron job (wrangler.toml, triggers): deletes stored objects that nothing names any more. */
export async function runScheduled(_event: ScheduledController, env: Env): Promise<void> {
  const reaped = await reapDiscarded(env.DB, env.OBJECTS, Date.now());
  const volumes = await reapVolumes(env.DB, env.OBJECTS, Date.now());
  console.log(JSON.stringify({ level: "info", event: "reaped", objects: reaped, volumes }));
}
