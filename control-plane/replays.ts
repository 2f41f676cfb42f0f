import type { RecordingReport } from "@svc/contract/host-protocol/recording.ts";
import { ask } from "./database.ts";

/** Where the replay of a session lies: gzip newline-delimited JSON, stored without Content-Encoding. */
export const replayKey = (orgId: string, sessionId: string): string =>
  `replays/${orgId}/${sessionId}.ndjson.gz`;

/** Notes what a host says of a recording. A replay that is ready stays ready. */
export async function noteRecording(
  db: D1Database,
  session: { id: string; orgId: string },
  report: RecordingReport,
  now: number,
): Promise<void> {
  const { state, sizeBytes = null, events = null } = report;
  await ask(db, () =>
    db
      .prepare(
        `INSERT INTO replays (session_id, org_id, state, size_bytes, events, updated_at)
         VALUES (?, ?, ?, ?, ?, ?)
         ON CONFLICT (session_id) DO UPDATE SET state = excluded.state,
           size_bytes = excluded.size_bytes, events = excluded.events, updated_at = excluded.updated_at
         WHERE replays.state <> 'ready'`,
      )
      .bind(session.id, session.orgId, state, sizeBytes, events, now)
      .run(),
  );
}

/** What is known of the replay of a session of this org; null when nothing is. */
export async function replayState(
  db: D1Database,
  orgId: string,
  sessionId: string,
): Promise<RecordingReport["state"] | null> {
  const row = await ask(db, () =>
    db
      .prepare("SELECT state FROM replays WHERE session_id = ? AND org_id = ?")
      .bind(sessionId, orgId)
      .first<{ state: RecordingReport["state"] }>(),
  );
  return row?.state ?? null;
}
