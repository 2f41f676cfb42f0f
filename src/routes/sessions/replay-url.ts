import type { ReplayUrl } from "@svc/contract/browser/replay.ts";
import { ApiError } from "@svc/contract/errors.ts";
import { readSessionId } from "@svc/contract/tokens.ts";
import { replayKey, replayState } from "../../../control-plane/replays.ts";
import { type AppContext, baseUrlOf, type Handler } from "../../context.ts";
import { replayEncoding } from "../../env.ts";
import { objectUrl, playUrl } from "../../object-url.ts";

const AS = {
  gzip: { contentType: "application/gzip" },
  identity: { contentType: "application/x-ndjson", unpack: true },
} as const;

/** The id is neither checked for its signature nor its age: the row of this org decides (document 1). */
export const replayUrl: Handler = async (c) => {
  const id = c.req.param("id") ?? "";
  const { orgId } = c.get("caller");
  const state = await replayState(c.env.DB, { orgId, sessionId: id }, Date.now());
  if (state === "pending") {
    throw new ApiError("ReplayPending", "The replay is still being stored. Try again.");
  }
  if (state !== "ready") throw await missing(c, id, state !== null);
  const contentEncoding = replayEncoding(c.env);
  const key = replayKey(orgId, id);
  const signed = await objectUrl(c.env, baseUrlOf(c), { key, ...AS[contentEncoding] });
  const playerUrl = await playUrl(c.env, baseUrlOf(c), key);
  const body: ReplayUrl = { ...signed, contentEncoding, playerUrl };
  return c.json(body);
};

/** The org's own session was not recorded; of any other id nothing is said. */
async function missing(c: AppContext, id: string, isKnown: boolean): Promise<ApiError> {
  const claims = await readSessionId(c.env.SVC_SIGNING_SECRET, id);
  const isOwn = isKnown || claims?.org === c.get("caller").orgId;
  if (isOwn) return new ApiError("ReplayUnavailable", "This session was not recorded.");
  return new ApiError("ReplayNotFound", "There is no such replay.");
}
