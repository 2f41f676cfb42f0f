import { LockProfile, type ProfileLock } from "@svc/contract/browser/profile.ts";
import * as locks from "../../../control-plane/profile-locks.ts";
import { parseBody } from "../../body.ts";
import type { Handler } from "../../context.ts";

const SECOND_MS = 1000;

export const lockProfile: Handler = async (c) => {
  const { idleSeconds, lease = null } = await parseBody(c, LockProfile);
  const now = Date.now();
  const until = now + idleSeconds * SECOND_MS;
  const editor = { orgId: c.get("caller").orgId, id: c.req.param("id") ?? "", lease };
  const held = await locks.lockProfile(c.env.DB, editor, { now, until });
  const leaseExpiresAt = new Date(until).toISOString();
  return c.json({ lease: held, idleSeconds, leaseExpiresAt } satisfies ProfileLock);
};
