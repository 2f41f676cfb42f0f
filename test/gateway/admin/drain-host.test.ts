import { expect, test } from "vitest";
import { admin } from "../../support/worker/operator.ts";
import { newPool } from "../../support/worker/gateway.ts";

test("a drain is passed on to the host, 404 when it is unknown, 503 when it does not answer", async () => {
  const pool = await newPool();
  const drain = (hostId: string) => admin(`/admin/hosts/${hostId}/drain`, { method: "POST" });
  expect((await drain(pool.hostId)).status).toBe(202);
  expect((await pool.calls()).map(({ path }) => path)).toContain("/drain");
  expect((await drain("nope")).status).toBe(404);
  await pool.beat({ url: "http://127.0.0.1:1" });
  const silent = await drain(pool.hostId);
  expect(silent.status).toBe(503);
  expect(await silent.json()).toMatchObject({ code: "PoolUnreachable", retryable: true });
});
