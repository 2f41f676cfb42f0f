import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { PlanOverrides } from "@svc/contract/plans.ts";
import type { SessionDO } from "../../../durable-objects/session.ts";
import type { StoredSession } from "../../../durable-objects/session/record.ts";
import { clearFleet, newOrg, newPool, newSession, slotOf } from "./gateway.ts";

/** A session on the only pool there is, which has reported it. */
export async function placed(overrides: PlanOverrides = {}) {
  await clearFleet();
  const pool = await newPool();
  const { key, orgId } = await newOrg("free", overrides);
  const id = await newSession(key);
  await pool.beat({ slots: [slotOf(id)] });
  return { pool, key, orgId, id, stub: env.SESSIONS.getByName(id) };
}

/** What an object keeps of its session. */
export const stored = (stub: DurableObjectStub<SessionDO>) =>
  runInDurableObject(stub, (_object, state) => state.storage.kv.get<StoredSession>("session"));
