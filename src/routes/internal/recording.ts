import { RecordingReport } from "@svc/contract/host-protocol/recording.ts";
import { readSessionId } from "@svc/contract/tokens.ts";
import { noteRecording } from "../../../control-plane/replays.ts";
import { parseBody } from "../../body.ts";
import type { Handler } from "../../context.ts";
import { invalidSessionId } from "../sessions/owned.ts";

export const recording: Handler = async (c) => {
  const id = c.req.param("id") ?? "";
  const claims = await readSessionId(c.env.SVC_SIGNING_SECRET, id);
  if (!claims) throw invalidSessionId();
  const report = await parseBody(c, RecordingReport);
  await noteRecording(c.env.DB, { id, orgId: claims.org }, report, Date.now());
  return c.body(null, 204);
};
