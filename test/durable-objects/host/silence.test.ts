import { env } from "cloudflare:workers";
import { evictDurableObject } from "cloudflare:test";
import { expect, test, vi } from "vitest";
import { fleet } from "../../../durable-objects/fleet/registry.ts";
import { clearFleet, newOrg, newPool, newSession, slotOf } from "../../support/worker/gateway.ts";

const WAIT = { timeout: 100_000, interval: 250 };

test("a silent host leaves the fleet and its sessions are away, while another goes on beating", async () => {
  await clearFleet();
  const silent = await newPool();
  const id = await newSession((await newOrg()).key);
  // Not by `beat`, which keeps it heard.
  await silent.post({ ...(await silent.heartbeat()), slots: [slotOf(id)] });
  const lively = await newPool();
  const status = async () => (await env.SESSIONS.getByName(id).read())?.status;
  const known = async () => (await fleet(env).list()).map(({ hostId }) => hostId);
  expect(await known()).toContain(lively.hostId);
  // The alarm is stored: an evicted object falls silent no later.
  await evictDurableObject(env.HOSTS.getByName(silent.hostId));
  await vi.waitFor(async () => {
    await lively.beat();
    expect(await known()).toEqual([lively.hostId]);
  }, WAIT);
  await vi.waitFor(async () => expect(await status()).toBe("away"), WAIT);
  await silent.beat({ slots: [slotOf(id)] });
  expect(await status()).toBe("active");
  expect(await known()).toContain(silent.hostId);
});
