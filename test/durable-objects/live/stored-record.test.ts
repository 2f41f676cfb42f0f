import { listDurableObjectIds, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { arm } from "../../../durable-objects/live/alarm.ts";
import { StoredRecord } from "../../../durable-objects/live/stored-record.ts";
import { call, clearFleet, newOrg, newPool } from "../../support/worker/gateway.ts";
import { newVmHost } from "../../support/worker/vm-host.ts";

interface Record {
  state: { status: string; giveUpAt: number };
}
interface Kept {
  record: Record | undefined;
  alarm: number | null;
}

const SOON_MS = 30_000;

/** Both kinds of object write their first record alike: key, path, and their host in a way that a test can steer. */
const KINDS = [
  {
    key: "session",
    path: "/sessions",
    objects: () => env.SESSIONS,
    join: newPool,
    begun: "creating",
  },
  {
    key: "sandbox",
    path: "/sandboxes",
    objects: () => env.SANDBOXES,
    join: () => newVmHost(),
    begun: "starting",
  },
] as const;

beforeEach(clearFleet);

describe.each(KINDS)("the first write of a $key", ({ key, path, objects, join, begun }) => {
  const look = (stub: DurableObjectStub): Promise<Kept> =>
    runInDurableObject(stub, async (_object, { storage }) => ({
      record: storage.kv.get<Record>(key),
      alarm: await storage.getAlarm(),
    }));
  const ids = async (): Promise<string[]> =>
    (await listDurableObjectIds(objects() as DurableObjectNamespace)).map(String);
  const named = (id: string): DurableObjectStub => {
    const namespace = objects() as DurableObjectNamespace;
    return namespace.get(namespace.idFromString(id));
  };
  const create = (bearer: string) => call(path, { method: "POST", bearer });

  test("is not of one that is refused: nothing is kept of it", async () => {
    await join();
    const { key: bearer } = await newOrg("free", { browsers: 0, vms: 0 });
    const before = await ids();
    const refused = await call(path, { method: "POST", bearer });
    expect(refused.status).toBe(429);
    expect(await refused.json()).toMatchObject({ code: "ConcurrencyLimitExceeded" });
    const made = (await ids()).filter((id) => !before.includes(id));
    for (const id of made)
      expect(await look(named(id))).toEqual({ record: undefined, alarm: null });
  });

  test("is there while its host works, with an alarm; what dies then is undone by that", async () => {
    const host = await join();
    await host.steer({ put: "hang" });
    const { key: bearer } = await newOrg("professional");
    const before = await ids();
    const creating = create(bearer);
    const found = await vi.waitFor(async () => {
      for (const id of await ids()) {
        if (before.includes(id)) continue;
        const kept = await look(named(id));
        if (kept.record) return { id, ...kept };
      }
      throw new Error("not yet");
    }, SOON_MS);
    expect(found.record?.state.status).toBe(begun);
    expect(found.alarm).not.toBeNull();
    const stub = named(found.id);
    await runInDurableObject(stub, (_object, state) => state.abort("test")).catch(() => undefined);
    const answer = await creating;
    expect(answer.status).toBe(503);
    expect(await answer.json()).toMatchObject({ code: "ObjectUnavailable", retryable: true });
    await runInDurableObject(named(found.id), (_object, { storage }) => {
      const kept = storage.kv.get<Record>(key);
      if (kept)
        storage.kv.put(key, { ...kept, state: { ...kept.state, giveUpAt: Date.now() - 1 } });
    });
    await vi.waitFor(async () => {
      await runDurableObjectAlarm(named(found.id));
      expect(await look(named(found.id))).toEqual({ record: undefined, alarm: null });
    }, SOON_MS);
  });
});

describe("the alarm of a record", () => {
  const HOUR_MS = 3_600_000;

  test("is set by a change that comes while the one before is taken back", async () => {
    const stub = env.SESSIONS.getByName("taken back");
    await runInDurableObject(stub, async (_object, { storage }) => {
      const record = new StoredRecord(storage, "record", () => null);
      const now = Date.now();
      record.ring(now + HOUR_MS);
      await record.arm(() => {
        queueMicrotask(() => record.ring(now + 2 * HOUR_MS));
        return {};
      });
      expect(await storage.getAlarm()).toBe(now + 2 * HOUR_MS);
      await storage.deleteAlarm();
    });
  });

  test("is set anew when it has not rung long after its time", async () => {
    const lostAt = Date.now() - HOUR_MS;
    const set: number[] = [];
    const storage = {
      getAlarm: () => Promise.resolve(lostAt),
      setAlarm: (at: number) => Promise.resolve(void set.push(at)),
    } as unknown as DurableObjectStorage;
    await arm(storage, () => ({ retry: lostAt }));
    expect(set).toHaveLength(1);
    expect(set[0]).toBeGreaterThan(lostAt);
  });
});
