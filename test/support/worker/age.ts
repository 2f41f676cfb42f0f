import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { StoredSandbox } from "../../../durable-objects/sandbox/record.ts";

const earlier = (at: number | null, byMs: number) => (at === null ? null : at - byMs);

/** A sandbox as its object keeps it. */
export const storedSandbox = (id: string): Promise<StoredSandbox> =>
  runInDurableObject(env.SANDBOXES.getByName(id), (_object, { storage }) => {
    const sandbox = storage.kv.get<StoredSandbox>("sandbox");
    if (!sandbox) throw new Error("there is no such sandbox");
    return sandbox;
  });

/** Lets a sandbox that runs be as if all of it had been `byMs` earlier, and its alarm ring. */
export async function age(id: string, byMs: number): Promise<void> {
  const stub = env.SANDBOXES.getByName(id);
  // In one turn: what it does by itself meanwhile is not undone.
  await runInDurableObject(stub, async (_object, { storage }) => {
    const sandbox = storage.kv.get<StoredSandbox>("sandbox");
    if (sandbox?.state.status !== "running") throw new Error("it does not run");
    const { state } = sandbox;
    const times = {
      expiresAt: state.expiresAt - byMs,
      parkedAt: earlier(state.parkedAt, byMs),
      checkpointDueAt: earlier(state.checkpointDueAt, byMs),
      awaySince: earlier(state.awaySince, byMs),
    };
    storage.kv.put("sandbox", { ...sandbox, state: { ...state, ...times } });
    await storage.setAlarm(Date.now() + 60_000);
  });
  await runDurableObjectAlarm(stub);
}
