import { ApiError } from "@svc/contract/errors.ts";
import { readVmId } from "@svc/contract/tokens.ts";
import type { RecordingUrl } from "@svc/contract/vm/desktop.ts";
import { recordingKey } from "../../../control-plane/objects.ts";
import { readRecording } from "../../../control-plane/recordings.ts";
import { baseUrlOf, type Handler } from "../../context.ts";
import { objectUrl } from "../../object-url.ts";
import { noDesktop } from "./owned.ts";

/** The desktop itself is not asked: its recording outlives it. */
export const recordingUrl: Handler = async (c) => {
  const sandboxId = c.req.param("id") ?? "";
  const { orgId } = c.get("caller");
  const claims = await readVmId(c.env.SVC_SIGNING_SECRET, sandboxId);
  if (claims?.org !== orgId) throw noDesktop();
  const { DB, OBJECTS } = c.env;
  const recording = await readRecording(DB, OBJECTS, { orgId, sandboxId }, Date.now());
  if (!recording)
    throw new ApiError("RecordingUnavailable", "There is no recording of this desktop.");
  const { durationMs, sizeBytes, isCut: cut } = recording;
  if (durationMs === 0)
    throw new ApiError("RecordingPending", "Nothing of the recording is stored yet. Try again.");
  const readable = { key: recordingKey(orgId, sandboxId), contentType: "video/webm" };
  const signed = await objectUrl(c.env, baseUrlOf(c), readable);
  return c.json({ ...signed, durationMs, sizeBytes, cut } satisfies RecordingUrl);
};
