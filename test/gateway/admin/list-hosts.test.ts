import { HostList } from "@svc/contract/admin/hosts.ts";
import { expect, test } from "vitest";
import { admin } from "../../support/worker/operator.ts";
import { newPool } from "../../support/worker/gateway.ts";

test("the registered hosts are listed with what they said and when they were last heard", async () => {
  const pool = await newPool();
  const before = Date.now();
  await pool.beat();
  const { hosts } = HostList.parse(await (await admin("/admin/hosts")).json());
  const host = hosts.find(({ hostId }) => hostId === pool.hostId);
  expect(host).toMatchObject({
    type: "pool",
    url: pool.url,
    isolation: "none",
    draining: false,
    kinds: { fast: { idle: 5 } },
  });
  expect(host?.seenAt).toBeGreaterThanOrEqual(before);
});
