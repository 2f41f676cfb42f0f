import { env } from "cloudflare:workers";
import { mintVmId } from "@svc/contract/tokens.ts";
import { expect, test, vi } from "vitest";
import { NO_DESKTOP, runningDesktop } from "../../support/worker/desktops.ts";
import { call, json, newOrg } from "../../support/worker/gateway.ts";
import { expiryOf, newSandbox, newVmHost, rewind } from "../../support/worker/vm-host.ts";
import { SIGNING_SECRET } from "../../support/secrets.ts";

test("a desktop's record is its status, and reading it is use of the desktop", async () => {
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

test("a desktop that is gone has no deadline, also when nothing is known of it any more", async () => {
  const { key, id, orgId, path, read } = await runningDesktop();
  await call(path, { method: "DELETE", bearer: key });
  const gone = { status: "gone", expiresAt: null, orgId };
  expect(await read()).toEqual({ ...gone, sessionId: id });
  const forgotten = await mintVmId(SIGNING_SECRET, { org: orgId, issuedAt: 5 });
  const response = await call(`/desktops/${forgotten}`, { bearer: key });
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual({ ...gone, sessionId: forgotten });
});

test("a desktop that is being created is starting", async () => {
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

test("every route of a sandbox works on a desktop's id", async () => {
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
