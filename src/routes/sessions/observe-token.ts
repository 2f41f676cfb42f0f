import type { ObserveToken } from "@svc/contract/browser/observer.ts";
import { ApiError } from "@svc/contract/errors.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { mintViewerUrl } from "@svc/contract/tokens/viewer-url.ts";
import { type Handler, baseUrlOf } from "../../context.ts";
import { ownedSession } from "./owned.ts";

const LIVE = ["creating", "active", "away"];

export const observeToken: Handler = async (c) => {
  const session = await ownedSession(c);
  const view = await session.ask((object) => object.read());
  if (!view || !LIVE.includes(view.status))
    throw new ApiError("NotRunning", "The session has ended.");
  const { id, org } = view;
  const now = Date.now();
  const { token, path, expiresInSeconds } = await mintViewerUrl(c.env.SVC_SIGNING_SECRET, {
    id,
    org,
    now,
    expiresAt: now + LIMITS.observeTokenMs,
    handoff: null,
  });
  const url = baseUrlOf(c).replace(/^http/, "ws") + path;
  return c.json({ token, url, expiresInSeconds } satisfies ObserveToken);
};
