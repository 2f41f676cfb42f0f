import { NO_DESKTOP, refusalOf, runningDesktop } from "../../support/worker/desktops.ts";
import { env } from "cloudflare:workers";
import { mintVmId } from "@svc/contract/tokens.ts";
import { describe, expect, test, vi } from "vitest";
import { ends } from "../../support/worker/asleep.ts";
import { call, json, newOrg } from "../../support/worker/gateway.ts";
import { expiryOf, newSandbox, newVmHost, rewind } from "../../support/worker/vm-host.ts";

describe("GET /desktops/:id", () => {
  test("is its status, and activity", async () => {
    const { id, orgId, read } = await runningDesktop();
    const before = await rewind(id);
    expect(await read()).toEqual({
      sessionId: id,
      status: "ready",
      expiresAt: expect.any(String),
      orgId,
    });
    expect(await expiryOf(id)).toBeGreaterThan(before);
  });

  test("of one that is gone is gone without a deadline, also when nothing is known of it any more", async () => {
    const { key, id, orgId, path, read } = await runningDesktop();
    await call(path, { method: "DELETE", bearer: key });
    const gone = { status: "gone", expiresAt: null, orgId };
    expect(await read()).toEqual({ ...gone, sessionId: id });
    const forgotten = await mintVmId("signing", { org: orgId, issuedAt: 5 });
    const response = await call(`/desktops/${forgotten}`, { bearer: key });
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ ...gone, sessionId: forgotten });
  });

  test("while it is being created is starting", async () => {
    const host = await newVmHost({ capabilities: ["desktop"] });
    await host.steer({ put: "wait" });
    const { key } = await newOrg("professional");
    const creating = call("/desktops", { method: "POST", bearer: key });
    const id = await vi.waitFor(async () => {
      const list = await call("/sandboxes", { bearer: key });
      const { sandboxes } = await list.json<{ sandboxes: { sandboxId: string }[] }>();
      expect(sandboxes).toHaveLength(1);
      return sandboxes[0]?.sandboxId ?? "";
    }, 30_000);
    const response = await call(`/desktops/${id}`, { bearer: key });
    expect(await response.json()).toMatchObject({ status: "starting" });
    await vi.waitFor(async () => expect(await host.calls("PUT")).toHaveLength(1), 30_000);
    await host.steer({ put: "fault" });
    expect((await creating).status).toBe(502);
  });
});

test("a sandbox without a screen is no desktop, alive or gone: 404, and it lives on", async () => {
  await newVmHost();
  const { key } = await newOrg("professional");
  const { sandboxId: id } = await newSandbox(key);
  const before = await rewind(id);
  const ask = async (method: string, what = "") => {
    const response = await call(`/desktops/${id}${what}`, { method, bearer: key });
    return [response.status, await response.text()];
  };
  const acts = [["GET"], ["DELETE"], ["POST", "/pause"], ["POST", "/resume"]] as const;
  for (const [method, what] of acts) expect(await ask(method, what)).toEqual([404, NO_DESKTOP]);
  expect(await expiryOf(id)).toBe(before);
  await call(`/sandboxes/${id}`, { method: "DELETE", bearer: key });
  expect(await ask("GET")).toEqual([404, NO_DESKTOP]);
});

test("DELETE ends it, again and again; its acts are 404 then", async () => {
  const { host, key, path, act } = await runningDesktop();
  for (let n = 0; n < 2; n += 1) {
    const response = await call(path, { method: "DELETE", bearer: key });
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ ok: true });
  }
  expect(await host.held()).toEqual([]);
  for (const what of ["pause", "resume"]) {
    const response = await act(what);
    expect([response.status, await response.text()]).toEqual([404, NO_DESKTOP]);
  }
});

describe("pause and resume", () => {
  test("in its own words, with the bill of a sandbox", async () => {
    const { host, id, orgId, act, read } = await runningDesktop();
    for (let n = 0; n < 2; n += 1) {
      const response = await act("pause");
      expect(response.status).toBe(200);
      expect(await response.json()).toEqual({ sessionId: id, status: "paused" });
    }
    expect(await host.calls("POST", "pause")).toHaveLength(1);
    expect(await read()).toMatchObject({ status: "paused", expiresAt: expect.any(String) });
    const resumed = await act("resume");
    expect(resumed.status).toBe(200);
    expect(await resumed.json()).toEqual({ sessionId: id, status: "ready" });
    expect(await read()).toMatchObject({ status: "ready" });
    await vi.waitFor(async () => expect(await ends(orgId)).toEqual([true, false]), 30_000);
    const again = await act("resume");
    expect(again.status).toBe(409);
    expect(await again.json()).toMatchObject({ code: "NotPaused" });
  });

  test("many pauses at once are one, and a resume waits for it", async () => {
    const { host, act, read } = await runningDesktop();
    const answers = await Promise.all(["pause", "pause", "pause"].map((what) => act(what)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(await host.calls("POST", "pause")).toHaveLength(1);
    await act("resume");
    const both = await Promise.all([act("pause"), act("resume")]);
    expect(both.map(({ status }) => status)).toEqual([200, 200]);
    expect(await read()).toMatchObject({ status: "ready" });
  });

  test.each([
    ["unable", 409, "HostCapabilityMissing", true],
    ["missing", 409, "NotRunning", false],
    ["fault", 502, "HostRejected", true],
    ["lost", 502, "HostUnreachable", true],
  ])("a pause where the host answers %s is %i", async (mode, status, code, isTransient) => {
    const { host, act } = await runningDesktop();
    await host.steer({ pause: mode });
    expect(await refusalOf(await act("pause"))).toEqual([status, code, isTransient]);
  });

  test.each([
    ["foreign", 409, "SnapshotNotRestorable", false],
    ["fault", 502, "HostRejected", true],
    ["full", 503, "NoCapacity", true],
    ["lost", 503, "NoCapacity", true],
    ["small", 507, "InsufficientCapacity", true],
  ])("a resume where the host answers %s is %i", async (mode, status, code, isTransient) => {
    const { host, act } = await runningDesktop();
    await act("pause");
    await host.steer({ resume: mode });
    expect(await refusalOf(await act("resume"))).toEqual([status, code, isTransient]);
  });

  const patch = (orgId: string, body: object) =>
    call(`/admin/orgs/${orgId}`, { ...json(body, "PATCH"), bearer: "admin" });
  test.each([
    ["without credit", { creditCents: 0 }, 402, "InsufficientCredit"],
    ["without desktops", { overrides: { features: { desktops: false } } }, 403, "NotEntitled"],
    ["at its cap", { overrides: { vms: 0 } }, 429, "ConcurrencyLimitExceeded"],
  ])("resume of an org %s is refused", async (_name, change, status, code) => {
    const { act, orgId, read } = await runningDesktop();
    await act("pause");
    expect((await patch(orgId, change)).status).toBe(200);
    const response = await act("resume");
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ code });
    expect(await read()).toMatchObject({ status: "paused" });
  });
});

test("every route of a sandbox works on its id", async () => {
  const { key, id } = await runningDesktop();
  const ask = async (what: string, init = {}) =>
    (await call(`/sandboxes/${id}${what}`, { bearer: key, ...init })).status;
  expect(await ask("")).toBe(200);
  expect(await ask("/timeout", json({ timeoutMs: 60_000 }))).toBe(200);
  expect(await ask("/exec", json({ cmd: "true" }))).toBe(200);
  expect(await ask("/metrics")).toBe(200);
  expect(await ask("/ports/3000")).toBe(200);
  expect(await ask("/files/download-url?path=/a")).toBe(200);
  expect(await ask("/files/upload-url")).toBe(200);
  expect(await ask("/pause", { method: "POST" })).toBe(200);
  expect(await ask("/resume", { method: "POST" })).toBe(200);
  expect(await ask("", { method: "DELETE" })).toBe(200);
  expect(await env.SANDBOXES.getByName(id).kind()).toBeNull();
});
