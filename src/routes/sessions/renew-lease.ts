import { RenewLease, type Lease } from "@svc/contract/browser/session.ts";
import { ApiError } from "@svc/contract/errors.ts";
import { parseBody } from "../../body.ts";
import type { Handler } from "../../context.ts";
import { invalidSessionId, ownedSessionId } from "./owned.ts";

const SECOND_MS = 1000;

export const renewLease: Handler = async (c) => {
  const id = await ownedSessionId(c);
  const { idleSeconds } = await parseBody(c, RenewLease);
  const idleMs = idleSeconds === undefined ? null : idleSeconds * SECOND_MS;
  const answer = await c.env.SESSIONS.getByName(id).renewLease(idleMs);
  if (answer === null) throw invalidSessionId();
  if (answer === "ended") throw new ApiError("NotRunning", "The session has ended.");
  if (answer === "none") {
    const text = "idleSeconds: the session has no lease yet; say how long it shall be";
    throw new ApiError("ValidationError", text, { field: "idleSeconds" });
  }
  const { lease } = answer;
  const body: Lease = {
    idleSeconds: lease.idleMs / SECOND_MS,
    leaseExpiresAt: new Date(lease.renewedAt + lease.idleMs).toISOString(),
  };
  return c.json(body);
};
