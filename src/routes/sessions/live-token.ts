import { AskLiveToken, HANDOFF_SECONDS, type LiveToken } from "@svc/contract/browser/take-over.ts";
import { newHandoffId } from "@svc/contract/ids.ts";
import { mintViewerUrl } from "@svc/contract/tokens/viewer-url.ts";
import { parseBody } from "../../body.ts";
import { type Handler, baseUrlOf } from "../../context.ts";
import { handoffActive } from "../handoffs/active.ts";
import { openHandoff } from "../handoffs/open.ts";
import { ownedSession } from "./owned.ts";
import { handoffOf } from "./record.ts";

const SECOND_MS = 1_000;

export const liveToken: Handler = async (c) => {
  const session = await ownedSession(c);
  const { timeoutSeconds = HANDOFF_SECONDS.usual } = await parseBody(c, AskLiveToken);
  const lastsMs = timeoutSeconds * SECOND_MS;
  const wish = { kind: "takeOver" } as const;
  const handoff = await openHandoff(session, newHandoffId(), lastsMs, wish);
  if (handoff.kind === "autologin") throw handoffActive(handoff);
  const { token, path, expiresInSeconds } = await mintViewerUrl(c.env.SVC_SIGNING_SECRET, {
    id: c.req.param("id") ?? "",
    org: c.get("caller").orgId,
    now: Date.now(),
    expiresAt: handoff.expiresAt,
    handoff: handoff.id,
  });
  const url = baseUrlOf(c).replace(/^http/, "ws") + path;
  return c.json({ handoff: handoffOf(handoff), token, url, expiresInSeconds } satisfies LiveToken);
};
