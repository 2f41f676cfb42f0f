import { RenewLease, type Lease } from "@svc/contract/browser/session.ts";
import { ApiError } from "@svc/contract/errors.ts";
import { parseBody } from "../../body.ts";
import type { Handler } from "../../context.ts";
import { ownedSession } from "./owned.ts";

const SECOND_MS = 1000;

export const renewLease: Handler = async (c) => {
  const session = await ownedSession(c);
  const { idleSeconds } = await parseBody(c, RenewLease);
  const idleMs = idleSeconds === undefined ? null : idleSeconds * SECOND_MS;
  const answer = (await session.ask((object) => object.renewLease(idleMs))) ?? "ended";
  if (answer === "ended") throw new ApiError("NotRunning", "The session has ended.");
  if (answer === "creating")
    throw new ApiError("NotRunning", "The session is still being created.");
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
