import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, test, vi } from "vitest";
import type { CreateSandboxOrder } from "../../../durable-objects/sandbox/create.ts";
import { app } from "../../../src/app.ts";
import { ends } from "../../support/worker/asleep.ts";
import { call, json, newOrg } from "../../support/worker/gateway.ts";
import { newVmHost } from "../../support/worker/vm-host.ts";
import { holderOf, newVolume } from "../../support/worker/volumes.ts";

/** Objects that make the machine and then say of it what cannot be: the Worker trips over it. */
const STRANGE = {
  getByName: (id: string) => {
    const object = env.SANDBOXES.getByName(id);
    return {
      create: async (order: CreateSandboxOrder) => {
        const made = await object.create(order);
        return "created" in made ? { created: { ...made.created, expiresAt: NaN } } : made;
      },
      delete: (subject: { id: string; org: string }) => object.delete(subject),
    };
  },
};

const CAPABILITIES = ["desktop", "volumes.mount"];

/** A create by a Worker with that bug. */
async function create(key: string, path: string, body: object): Promise<Response> {
  const headers = { authorization: `Bearer ${key}`, "idempotency-key": "again" };
  const context = createExecutionContext();
  const bindings = { ...env, SANDBOXES: STRANGE };
  const response = await app.request(path, { ...json(body), headers }, bindings, context);
  await waitOnExecutionContext(context);
  return response;
}

describe("a create that meets a bug of ours when its machine is there:", () => {
  test.each(["/sandboxes", "/desktops"])("%s is 500, and nothing of it is left", async (path) => {
    const host = await newVmHost({ capabilities: CAPABILITIES });
    const { key, orgId } = await newOrg("professional", { vms: 1 });
    const { volumeId } = await newVolume(key);
    // Desktops have no volumes.
    const volumes = path === "/sandboxes" ? [{ volumeId, path: "/data" }] : [];
    const response = await create(key, path, { volumes });
    expect(response.status).toBe(500);
    const body = await response.json();
    expect(body).toEqual({ error: expect.any(String), code: "InternalError" });
    expect(JSON.stringify(body)).not.toMatch(/Invalid time|RangeError/);
    // The machine was there, and has been ended before the answer.
    expect(await host.calls("PUT")).toHaveLength(1);
    expect(await host.calls("DELETE")).toHaveLength(1);
    expect(await host.held()).toEqual([]);
    const list = await call("/sandboxes", { bearer: key });
    expect(await list.json()).toEqual({ sandboxes: [] });
    await vi.waitFor(async () => {
      expect(await holderOf(volumeId)).toBe(null);
      expect(await ends(orgId)).toEqual([true]);
    }, 30_000);
    // Its place is free, and the failure is not remembered.
    const headers = { "idempotency-key": "again" };
    const again = await call(path, { ...json({ volumes }), headers, bearer: key });
    expect(again.status).toBe(201);
    expect(again.headers.has("idempotent-replayed")).toBe(false);
  });
});
