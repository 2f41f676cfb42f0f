import { env } from "cloudflare:workers";
import { mintVmId } from "@svc/contract/tokens.ts";
import { expect, test, vi } from "vitest";
import { UNCAPPED } from "../../../durable-objects/org/messages.ts";
import { running, segments } from "../../support/worker/asleep.ts";
import { call, json } from "../../support/worker/gateway.ts";
import { newSandbox, sandboxView } from "../../support/worker/vm-host.ts";
import { SIGNING_SECRET } from "../../support/secrets.ts";

const NO_SANDBOX = '{"error":"There is no such sandbox.","code":"NotFound"}';

test("a DELETE ends the machine, frees the place, closes the bill; the record stays for a day", async () => {
  const { host, key, orgId, id, path, record } = await running({}, 9);
  await vi.waitFor(async () => expect(await segments(orgId)).toHaveLength(1), 30_000);
  const response = await call(path, { method: "DELETE", bearer: key });
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual({ ok: true });
  expect(await host.held()).toEqual([]);
  expect(await record()).toMatchObject({
    sandboxId: id,
    state: "gone",
    closeReason: "deleted",
    cpu: 2,
  });
  await vi.waitFor(async () => {
    const [segment] = await segments(orgId);
    expect(segment).toMatchObject({ kind: "vm", cpu: 2, mem_mb: 2048 });
    expect(segment?.ended_at).toBeGreaterThan(0);
  }, 30_000);
});

test("a DELETE again, and of a sandbox that is long forgotten, is 200", async () => {
  const { key, orgId, path } = await running({}, 9);
  const forgotten = await mintVmId(SIGNING_SECRET, { org: orgId, issuedAt: 5 });
  for (const one of [path, path, `/sandboxes/${forgotten}`]) {
    const response = await call(one, { method: "DELETE", bearer: key });
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ ok: true });
  }
  const gone = await call(`/sandboxes/${forgotten}`, { bearer: key });
  expect(gone.status).toBe(404);
  expect(await gone.text()).toBe(NO_SANDBOX);
});

test("a DELETE frees a reservation that dangles though nothing else is known of the sandbox", async () => {
  const { orgId } = await running({}, 9);
  const org = env.ORGS.getByName(orgId);
  const id = await mintVmId(SIGNING_SECRET, { org: orgId, issuedAt: Date.now() });
  const lapsesAt = Date.now() + 60_000;
  await org.reserveSandbox({ view: sandboxView(id), cap: 10, kept: UNCAPPED, lapsesAt });
  await env.SANDBOXES.getByName(id).delete({ org: orgId, id });
  const query = { limit: 9, cursor: null, state: "starting", kind: null, metadata: [] } as const;
  expect((await org.sandboxes({ ...query, metadata: [] })).sandboxes).toEqual([]);
});

test.each(["hang", "fault"])(
  "a DELETE is answered though the host answers %s: the sandbox is being released, and its place is free",
  async (remove) => {
    const { host, key, path, record } = await running({}, 9);
    await host.steer({ remove });
    expect((await call(path, { method: "DELETE", bearer: key })).status).toBe(200);
    expect((await record()).state).toBe("releasing");
    const { sandboxId } = await newSandbox(key);
    expect(sandboxId).toBeTruthy();
  },
);

test("sub-routes of a sandbox that is gone are 404 with the same bytes as of a forged id", async () => {
  const { key, path } = await running({}, 9);
  await call(path, { method: "DELETE", bearer: key });
  for (const [method, rest, body] of [
    ["POST", "/exec", { cmd: "true" }],
    ["GET", "/metrics", null],
    ["POST", "/timeout", {}],
  ] as const) {
    const init = body ? json(body) : { method };
    const response = await call(path + rest, { ...init, bearer: key });
    expect([rest, response.status]).toEqual([rest, 404]);
    expect(await response.text()).toBe(NO_SANDBOX);
  }
});
