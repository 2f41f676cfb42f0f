import { env } from "cloudflare:workers";
import { Usage } from "@svc/contract/usage.ts";
import { expect, test, vi } from "vitest";
import { call, clearFleet, newOrg, newPool } from "../../support/worker/gateway.ts";

test("a session that waited for its slot is billed from the slot on, and lives from its create on", async () => {
  await clearFleet();
  const pool = await newPool();
  await pool.steer({ put: "full" });
  const { key, orgId } = await newOrg("free", { sessionMinutes: 30 });
  const createdFrom = Date.now();
  const creating = call("/sessions", { method: "POST", bearer: key });
  const org = env.ORGS.getByName(orgId);
  const lines = async () => (await org.sessions({ limit: 1, cursor: null, status: null })).lines;
  await vi.waitFor(async () => expect(await lines()).toHaveLength(1), 30_000);
  const createdTo = Date.now();
  // Once it has waited for as long as the create may have taken to begin, and more.
  await vi.waitUntil(() => Date.now() > createdTo + 1000, { timeout: 30_000 });
  const placedFrom = Date.now();
  await pool.steer({ put: "ok" });
  const created = await (await creating).json<{ expiresAt: string }>();
  const lifeMs = 30 * 60_000;
  expect(Date.parse(created.expiresAt)).toBeGreaterThanOrEqual(createdFrom + lifeMs);
  expect(Date.parse(created.expiresAt)).toBeLessThanOrEqual(createdTo + lifeMs);
  await vi.waitFor(async () => {
    const usage = Usage.parse(await (await call("/usage", { bearer: key })).json());
    expect(usage.segments).toHaveLength(1);
    const startedAt = Date.parse(usage.segments[0]?.startedAt ?? "");
    expect(startedAt).toBeGreaterThanOrEqual(placedFrom);
  }, 30_000);
});
