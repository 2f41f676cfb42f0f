import { logOf } from "@svc/contract/log.ts";
import { reapDiscarded } from "../control-plane/discarded.ts";
import { forgetCopies } from "../control-plane/record-copies.ts";
import { reapRecordings } from "../control-plane/recordings.ts";
import { reapReplays } from "../control-plane/replays.ts";
import { reapVolumes } from "../control-plane/volumes.ts";
import { lookAtOpenSegments } from "./open-segments.ts";
import { sweepOrphans } from "./orphans.ts";
import { removeSnapshots } from "./snapshot-removal.ts";

const log = logOf("src");

/** The cron job (wrangler.toml, triggers): deletes what nothing names any more, objects and snapshots, and replays and recordings that were kept long enough. Looks after open bills. */
export async function runScheduled(_event: ScheduledController, env: Env): Promise<void> {
  const now = Date.now();
  const objects = await reapDiscarded(env.DB, env.OBJECTS, now);
  const volumes = await reapVolumes(env.DB, env.OBJECTS, now);
  const replays = await reapReplays(env.DB, env.OBJECTS, now);
  const recordings = await reapRecordings(env.DB, env.OBJECTS, now);
  const snapshots = await removeSnapshots(env, now);
  await forgetCopies(env.DB, now);
  await lookAtOpenSegments(env, now);
  const records = await sweepOrphans(env, now);
  log.info("reaped", { objects, volumes, replays, recordings, snapshots, records });
}
