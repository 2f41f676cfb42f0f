import { env } from "cloudflare:workers";
import { describe, expect, test, vi } from "vitest";
import { findVmHost } from "../../../durable-objects/sandbox/find-host.ts";
import { call, newOrg } from "../../support/worker/gateway.ts";
import { anotherVmHost, newSandbox, newVmHost } from "../../support/worker/vm-host.ts";

/** Two hosts: the likelier one answers a create as told, the other one well. */
async function two(put: string, facts: object = {}) {
  const first = await newVmHost({ capabilities: ["volumes.mount"] });
  await first.steer({ put });
  const other = await anotherVmHost({ warm: 0, capabilities: ["volumes.mount"], ...facts });
  const { key } = await newOrg("free");
  return { first, other, key };
}

const FULL = { free: { cpu: 0, memMb: 0, diskGb: 0, slots: 0 } };

describe("a host that says nothing", () => {
  test("does not use up the time of a create: a free one is asked beside it", async () => {
    const { first, other, key } = await two("hang");
    const { sandboxId } = await newSandbox(key);
    expect(await first.calls("PUT")).toHaveLength(1);
    expect(await other.held()).toEqual([sandboxId]);
  });

  test("and makes the machine too late, ends it at once", async () => {
    const { first, other, key } = await two("wait");
    const { sandboxId } = await newSandbox(key);
    expect(await other.held()).toEqual([sandboxId]);
    await first.steer({});
    await vi.waitFor(async () => expect(await first.calls("DELETE")).toHaveLength(1), 30_000);
    expect(await first.held()).toEqual([]);
    expect(await other.held()).toEqual([sandboxId]);
    const record = await call(`/sandboxes/${sandboxId}`, { bearer: key });
    expect(await record.json()).toMatchObject({ state: "running" });
  });

  test("is waited for when nobody else has room: then the other is not asked beside it", async () => {
    const { first, other, key } = await two("wait", FULL);
    const creating = newSandbox(key);
    await vi.waitFor(async () => expect(await first.calls("PUT")).toHaveLength(1), 30_000);
    await first.steer({});
    const { sandboxId } = await creating;
    expect(await first.held()).toEqual([sandboxId]);
    expect(await other.calls("PUT")).toEqual([]);
  });

  test("is waited for with volumes: of one machine that has them there may never be two", async () => {
    const { first, other } = await two("hang");
    const volumes = [{ volumeId: `vol_${"0".repeat(32)}`, path: "/data", epoch: 1 }];
    const size = { cpu: 1, memMb: 512, diskGb: 4, envs: {} };
    const source = { type: "image", name: "base" } as const;
    const found = await findVmHost(env, {
      subject: { org: "org_a", id: "a" },
      body: { kind: "sandbox", source, isolation: "dedicated", ...size, volumes },
      acquireMs: 500,
      isWanted: () => true,
    });
    expect(found).toMatchObject({ refused: { code: "HostRejected" } });
    expect(await first.calls("PUT")).toHaveLength(1);
    expect(await other.calls("PUT")).toEqual([]);
  });
});

test("a host that fails is followed by the next at once, and the best of all answers is told", async () => {
  const { first, other, key } = await two("fault");
  await other.steer({ put: "small" });
  const response = await call("/sandboxes", { method: "POST", bearer: key });
  expect(response.status).toBe(507);
  for (const host of [first, other]) expect(await host.calls("PUT")).toHaveLength(1);
});
