import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { StoredSandbox } from "../../durable-objects/sandbox-view.ts";

const earlier = (at: number | null, byMs: number) => (at === null ? null : at - byMs);

function sandboxIn({ kv }: DurableObjectStorage): StoredSandbox {
  const sandbox = kv.get<StoredSandbox>("sandbox");
  if (!sandbox) throw new Error("there is no such sandbox");
  return sandbox;
}

/** A sandbox as its object keeps it. */
export const storedSandbox = (id: string): Promise<StoredSandbox> =>
  runInDurableObject(env.SANDBOXES.getByName(id), (_object, { storage }) => sandboxIn(storage));

/** Lets a sandbox that runs be as if all of it had been `byMs` earlier, and its alarm ring. */
export async function age(id: string, byMs: number): Promise<void> {
  await runInDurableObject(env.SANDBOXES.getByName(id), async (_object, { storage }) => {
    // In one go: the object may be at work on it.
    const sandbox = sandboxIn(storage);
    const { state } = sandbox;
    if (state.status !== "running") throw new Error(`it is ${state.status}`);
    const times = {
      expiresAt: state.expiresAt - byMs,
      parkedAt: earlier(state.parkedAt, byMs),
      checkpointDueAt: earlier(state.checkpointDueAt, byMs),
      awaySince: earlier(state.awaySince, byMs),
    };
    storage.kv.put("sandbox", { ...sandbox, state: { ...state, ...times } });
    await storage.setAlarm(Date.now() + 60_000);
  });
  await runDurableObjectAlarm(env.SANDBOXES.getByName(id));
}
