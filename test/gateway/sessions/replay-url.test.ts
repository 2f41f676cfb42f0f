import { ownSession } from "../../support/worker/replays.ts";
import { env } from "cloudflare:workers";
import { ReplayUrl } from "@svc/contract/browser/replay.ts";
import { expect, test } from "vitest";
import { replayKey } from "../../../control-plane/replays.ts";
import { app } from "../../../src/app.ts";
import { call, newOrg } from "../../support/worker/gateway.ts";

test("a replay that is stored has a signed URL of its gzip bytes, fetched without a key", async () => {
  const { id, orgId, report, replay } = await ownSession();
  const line = new Blob(['{"type":4}\n']).stream().pipeThrough(new CompressionStream("gzip"));
  const bytes = new Uint8Array(await new Response(line).arrayBuffer());
  await env.OBJECTS.put(replayKey(orgId, id), bytes);
  expect((await report({ state: "ready", sizeBytes: bytes.length, events: 1 })).status).toBe(204);
  const response = await replay();
  expect(response.status).toBe(200);
  const body = ReplayUrl.parse(await response.json());
  expect(body).toMatchObject({ expiresInSeconds: 300, contentEncoding: "gzip" });
  const fetched = await call(new URL(body.url).pathname);
  expect(fetched.headers.get("content-encoding")).toBeNull();
  expect(fetched.headers.get("content-type")).toBe("application/gzip");
  expect(new Uint8Array(await fetched.arrayBuffer())).toEqual(bytes);
});

test("where replays are unpacked, the URL says identity and serves the lines themselves", async () => {
  const { id, orgId, key, report } = await ownSession();
  const lines = '{"type":4}\n'.repeat(1000);
  const packed = new Blob([lines]).stream().pipeThrough(new CompressionStream("gzip"));
  await env.OBJECTS.put(replayKey(orgId, id), await new Response(packed).arrayBuffer());
  await report({ state: "ready" });
  const headers = { authorization: `Bearer ${key}` };
  const bindings = { ...env, SVC_REPLAY_ENCODING: "identity" };
  const response = await app.request(`/sessions/${id}/replay-url`, { headers }, bindings);
  const { url, contentEncoding } = ReplayUrl.parse(await response.json());
  expect(contentEncoding).toBe("identity");
  const fetched = await call(new URL(url).pathname);
  expect(fetched.headers.get("content-encoding")).toBeNull();
  expect(fetched.headers.get("content-type")).toBe("application/x-ndjson");
  expect(await fetched.text()).toBe(lines);
});

test("one that is on its way is ReplayPending and retryable, then ready for good", async () => {
  const { report, replay } = await ownSession();
  await report({ state: "pending" });
  const pending = await replay();
  expect(pending.status).toBe(404);
  expect(await pending.json()).toMatchObject({ code: "ReplayPending", retryable: true });
  await report({ state: "ready" });
  await report({ state: "pending" });
  expect((await replay()).status).toBe(200);
});

test("an own session without a recording, or with an empty one, is ReplayUnavailable", async () => {
  const { report, replay } = await ownSession();
  for (const prepare of [() => undefined, () => report({ state: "none" })]) {
    await prepare();
    const response = await replay();
    expect(response.status).toBe(404);
    const body = await response.json();
    expect(body).toMatchObject({ code: "ReplayUnavailable" });
    expect(body).not.toHaveProperty("retryable");
  }
});

test("another org's, an unknown and a malformed id are 404 without a code, with the same bytes", async () => {
  const { id, report } = await ownSession();
  await report({ state: "ready" });
  const { key } = await newOrg();
  const texts = new Set<string>();
  for (const other of [id, "nope", id.slice(0, -1)]) {
    const response = await call(`/sessions/${other}/replay-url`, { bearer: key });
    expect(response.status).toBe(404);
    texts.add(await response.text());
  }
  expect([...texts]).toEqual(['{"error":"There is no such replay."}']);
});
