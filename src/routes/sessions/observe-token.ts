import type { ObserveToken } from "@svc/contract/browser/observer.ts";
import { ApiError } from "@svc/contract/errors.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { mintAlias, mintViewerToken } from "@svc/contract/tokens/viewer.ts";
import { type Handler, baseUrlOf } from "../../context.ts";
import { ownedSession } from "./owned.ts";

const SECOND_MS = 1_000;
const LIVE = ["creating", "active", "away"];

export const observeToken: Handler = async (c) => {
  const session = await ownedSession(c);
  const view = await session.ask((object) => object.read());
  if (!view || !LIVE.includes(view.status))
    throw new ApiError("NotRunning", "The session has ended.");
  const { id, org } = view;
  const secret = c.env.SVC_SIGNING_SECRET;
  const iat = Math.floor(Date.now() / SECOND_MS);
  const exp = iat + LIMITS.observeTokenMs / SECOND_MS;
  const alias = await mintAlias(secret, { id, org, expiresAt: exp * SECOND_MS });
  const token = await mintViewerToken(secret, { aud: "observe", sub: alias, org, iat, exp });
  const base = baseUrlOf(c).replace(/^http/, "ws");
  const url = `${base}/ws/observe/${alias}?token=${token}`;
  return c.json({ token, url, expiresInSeconds: exp - iat } satisfies ObserveToken);
};
