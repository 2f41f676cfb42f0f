import { SessionRecord } from "@svc/contract/browser/session.ts";
import { beforeEach, expect, test, vi } from "vitest";
import { call, clearFleet, newOrg, newPool, newSession } from "../../support/worker/gateway.ts";

// So that a session can only be on the pool of its own test.
beforeEach(clearFleet);

async function record(id: string, key: string): Promise<SessionRecord> {
  return SessionRecord.parse(await (await call(`/sessions/${id}`, { bearer: key })).json());
}

test("a release is 204, shows at once, is forwarded once, and repeats as 204", async () => {
  const pool = await newPool();
  const { key } = await newOrg();
  const id = await newSession(key);
  const release = () => call(`/sessions/${id}`, { method: "DELETE", bearer: key });
  const response = await release();
  expect(response.status).toBe(204);
  expect(await response.text()).toBe("");
  expect(await record(id, key)).toMatchObject({ status: "released", closeReason: "released" });
  expect(await record(id, key)).not.toHaveProperty("wsEndpoint");
  expect((await release()).status).toBe(204);
  const deletes = async () => (await pool.calls()).filter(({ method }) => method === "DELETE");
  await vi.waitFor(async () => expect(await deletes()).toHaveLength(1), 30_000);
});

test("the release is acked while the pool hangs", async () => {
  const pool = await newPool();
  await pool.steer({ remove: "hang" });
  const { key } = await newOrg();
  const id = await newSession(key);
  expect((await call(`/sessions/${id}`, { method: "DELETE", bearer: key })).status).toBe(204);
  expect((await record(id, key)).status).toBe("released");
});
