import { env } from "cloudflare:workers";
import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { SessionCreated } from "@svc/contract/browser/session.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { IdempotencyDO } from "../../durable-objects/idempotency.ts";
import { call, clearFleet, newOrg, newPool, type Pool } from "../support/worker/gateway.ts";
import { hang } from "../support/worker/hanging.ts";
import { newVmHost } from "../support/worker/vm-host.ts";

const create = (path: string, bearer: string, body = "{}") =>
  call(path, { method: "POST", headers: { "idempotency-key": "k" }, body, bearer });

/** Lets every key's object throw instead of recording a run, until the answered function is called. */
function breakRecords(): () => void {
  const broken = vi
    .spyOn(IdempotencyDO.prototype, "finish")
    .mockRejectedValue(new Error("the object is broken"));
  const mend = (): void => broken.mockRestore();
  onTestFinished(mend);
  return mend;
}

const keyObject = (orgId: string) => env.IDEMPOTENCY.getByName(`${orgId} k`);

/** Waits until the create under a key runs. */
const untilItRuns = (orgId: string) =>
  vi.waitFor(async () => {
    const kept = await runInDurableObject(keyObject(orgId), (_object, { storage }) =>
      storage.kv.get("kept"),
    );
    expect(kept).toMatchObject({ type: "running" });
  }, 30_000);

async function sessionsOf(orgId: string): Promise<string[]> {
  const page = await env.ORGS.getByName(orgId).sessions({ limit: 9, cursor: null, status: null });
  return page.lines.map(({ id }) => id);
}

describe("a create of a session whose Idempotency-Key cannot be recorded", () => {
  let pool: Pool;
  beforeEach(async () => {
    await clearFleet();
    pool = await newPool();
  });

  test("is answered all the same, and once the record can be made a repeat replays it", async () => {
    const { key, orgId } = await newOrg("professional");
    const mend = breakRecords();
    const first = await create("/sessions", key);
    expect(first.status).toBe(201);
    const text = await first.text();
    const repeat = create("/sessions", key);
    mend();
    const again = await repeat;
    expect(again.status).toBe(201);
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    expect(await again.text()).toBe(text);
    expect(await sessionsOf(orgId)).toEqual([SessionCreated.parse(JSON.parse(text)).sessionId]);
  });

  test("because the object dies after the create is replayed as any other", async () => {
    const { key, orgId } = await newOrg("professional");
    await pool.steer({ put: "full" });
    const first = create("/sessions", key);
    await untilItRuns(orgId);
    await evictDurableObject(keyObject(orgId));
    await pool.steer({ put: "ok" });
    const text = await (await first).text();
    expect(await (await create("/sessions", key)).text()).toBe(text);
  });

  test("because the object hangs is answered within the time that an object has", async () => {
    const { key, orgId } = await newOrg("professional");
    await pool.steer({ put: "full" });
    const first = create("/sessions", key);
    await untilItRuns(orgId);
    const goOn = await hang(keyObject(orgId));
    await pool.steer({ put: "ok" });
    const answer = await first;
    expect(answer.status).toBe(201);
    await goOn();
    expect(await (await create("/sessions", key)).text()).toBe(await answer.text());
  });
});

test("a create that fails while its key cannot be recorded lets a repeat run soon", async () => {
  const { key, orgId } = await newOrg("free", { browsers: 0 });
  const mend = breakRecords();
  expect((await create("/sessions", key)).status).toBe(429);
  mend();
  const begun = performance.now();
  expect((await create("/sessions", key)).status).toBe(429);
  expect(performance.now() - begun).toBeLessThan(LIMITS.idempotentRunMs / 2);
  expect(await sessionsOf(orgId)).toEqual([]);
});

test.each(["/sandboxes", "/desktops"])(
  "the same holds for POST %s: one machine in all",
  async (path) => {
    const host = await newVmHost({ capabilities: ["desktop"] });
    const { key } = await newOrg("professional");
    const mend = breakRecords();
    const first = await create(path, key);
    expect(first.status).toBe(201);
    mend();
    const again = await create(path, key);
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    expect(await again.text()).toBe(await first.text());
    expect(await host.calls("PUT")).toHaveLength(1);
  },
);
