import { evictDurableObject } from "cloudflare:test";
import { describe, expect, test, vi } from "vitest";
import { ends, paused, running } from "../../support/worker/asleep.ts";
import { call, clearFleet } from "../../support/worker/gateway.ts";
import { anotherVmHost, newSandbox, VmHost, vmOf } from "../../support/worker/vm-host.ts";

describe("exec on a paused sandbox", () => {
  test("is 409 and wakes nothing", async () => {
    const { post, state } = await paused();
    const response = await post("exec", { cmd: "true" });
    expect(response.status).toBe(409);
    expect(await response.json()).toMatchObject({ code: "NotRunning" });
    expect(await state()).toBe("paused");
  });

  test("with autoResume resumes it first", async () => {
    const { post, state } = await paused({ lifecycle: { autoResume: true } });
    const response = await post("exec", { cmd: "true" });
    expect(response.status).toBe(200);
    expect(response.headers.has("svc-asleep")).toBe(false);
    expect(await state()).toBe("running");
  });

  test("with autoResume is 429 when the cap is filled", async () => {
    const { key, post } = await paused({ lifecycle: { autoResume: true } });
    await newSandbox(key);
    expect((await post("exec", { cmd: "true" })).status).toBe(429);
  });

  test("metrics are 404, the idle window can be set, DELETE ends it", async () => {
    const { host, key, path, post, state } = await paused();
    expect((await call(`${path}/metrics`, { bearer: key })).status).toBe(404);
    expect((await post("timeout", { timeoutMs: 5000 })).status).toBe(200);
    expect((await call(path, { method: "DELETE", bearer: key })).status).toBe(200);
    expect(await host.held()).toEqual([]);
    expect(await state()).toBe("gone");
  });
});

describe("a file transfer and a control socket on a paused sandbox", () => {
  const upload = async (path: string, key: string) => {
    const minted = await call(`${path}/files/upload-url?path=/x`, { bearer: key });
    const { url } = await minted.json<{ url: string }>();
    return call(url, { method: "PUT", body: "bytes" });
  };
  const control = (id: string) =>
    call(`/control/${id}`, {
      headers: { upgrade: "websocket", "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==" },
    });

  test("are 409 and wake nothing", async () => {
    const { id, key, path, state } = await paused();
    expect((await upload(path, key)).status).toBe(409);
    expect((await control(id)).status).toBe(409);
    expect(await state()).toBe("paused");
  });

  test("with autoResume resume it first", async () => {
    const { id, key, path, post, state } = await paused({ lifecycle: { autoResume: true } });
    expect((await upload(path, key)).status).toBe(200);
    expect(await state()).toBe("running");
    await post("pause");
    const response = await control(id);
    expect(response.status).toBe(101);
    response.webSocket?.accept();
    response.webSocket?.close();
    expect(await state()).toBe("running");
  });

  test("with autoResume are refused as a resume is", async () => {
    const { id, key, path } = await paused({ lifecycle: { autoResume: true } });
    await newSandbox(key);
    const refused = await upload(path, key);
    expect([refused.status, await refused.json()]).toMatchObject([
      429,
      { code: "ConcurrencyLimitExceeded" },
    ]);
    expect((await control(id)).status).toBe(429);
  });
});

test("an idle window that is over pauses the sandbox", async () => {
  const { host, id, orgId, state, post } = await running({ timeoutMs: 1000 });
  await vi.waitFor(async () => expect(await host.states()).toEqual({ [id]: "paused" }), 30_000);
  await vi.waitFor(async () => expect(await state()).toBe("paused"), 30_000);
  await vi.waitFor(async () => expect(await ends(orgId)).toEqual([true]), 30_000);
  expect((await post("resume")).status).toBe(200);
});

describe("a paused sandbox whose host begins anew", () => {
  test("is held by the next start, and resumed there, wherever that listens", async () => {
    const { host, id, post, state, stub } = await paused();
    await host.beat();
    const { url } = await anotherVmHost();
    const next = new VmHost(host.hostId, url);
    await next.steer({ asleep: { [id]: "rec_1" } });
    const vms = [vmOf(id, { state: "paused" })];
    expect((await next.beat({ vms })).end).toEqual([]);
    await evictDurableObject(stub);
    expect(await state()).toBe("paused");
    expect((await next.beat({ vms })).end).toEqual([]);
    expect((await post("resume")).status).toBe(200);
    expect(await next.states()).toEqual({ [id]: "running" });
    expect(await host.calls("POST", "resume")).toEqual([]);
  });

  test("which was running when its host went, and was paused by that, is paused", async () => {
    const { host, id, state } = await running();
    await host.beat();
    const vms = [vmOf(id, { state: "paused" })];
    expect((await host.beat({ bootId: "another-start", vms })).end).toEqual([]);
    expect(await state()).toBe("paused");
  });

  test("without it, is gone", async () => {
    const { host, record } = await paused();
    await host.beat();
    await host.beat({ bootId: "another-start", vms: [] });
    expect(await record()).toMatchObject({ state: "gone", closeReason: "host_lost" });
  });

  test("an earlier start that still beats does not end it", async () => {
    const { host, id } = await paused();
    const earlier = await host.heartbeat();
    await host.beat({ bootId: "another-start" });
    const vms = [vmOf(id, { state: "paused" }), vmOf("stranger")];
    const response = await host.post({ ...earlier, seq: earlier.seq + 99, vms });
    expect(await response.json()).toMatchObject({ end: ["stranger"] });
  });
});

test("a heartbeat from before the pause changes nothing", async () => {
  const { host, id, post, state } = await running();
  const before = await host.heartbeat();
  await post("pause");
  const vms = [vmOf(id, { state: "running", lastActivityAt: Date.now() })];
  expect((await host.beat({ ...before, vms })).end).toEqual([]);
  expect(await state()).toBe("paused");
  await clearFleet();
});
