import { partName } from "@svc/contract/host-protocol/recording-part.ts";
import { RecordingUrl } from "@svc/contract/vm/desktop.ts";
import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { call, json, newOrg } from "../../support/worker/gateway.ts";
import { newVmHost } from "../../support/worker/vm-host.ts";
import { HOST_TOKEN } from "../../support/secrets.ts";

const ABLE = { capabilities: ["desktop", "recording"] };
const RUN_AT = 1_700_000_000_000;
/** Of a part, before its own bytes. */
const HEAD_BYTES = 22;
const EBML = [0x1a, 0x45, 0xdf, 0xa3];

/** A desktop that is recorded, and how its host stores parts of it. */
async function recordedDesktop(record = true) {
  const host = await newVmHost(ABLE);
  const { key, orgId } = await newOrg("starter");
  const response = await call("/desktops", { ...json({ record }), bearer: key });
  const { sessionId, recordingUrl = "" } = await response.json<Record<string, string>>();
  const [sandbox = ""] = await host.held();
  const ask = (file: string, sizeBytes: number) => {
    const object = { purpose: "recording", org: orgId, sandbox, file };
    return call("/internal/objects", { ...json({ object, sizeBytes }), bearer: HOST_TOKEN });
  };
  const store = async (offsetMs: number, text: string, more = {}) => {
    const file = partName({ runAt: RUN_AT, offsetMs, durationMs: 10_000, isCut: false, ...more });
    const body = `${"h".repeat(HEAD_BYTES)}${text}`;
    const { put } = await (await ask(file, body.length)).json<{ put: string }>();
    expect((await call(put, { method: "PUT", body })).status).toBe(200);
  };
  const url = (bearer = key) =>
    call(`/desktops/${encodeURIComponent(sessionId ?? "")}/recording-url`, { bearer });
  return { key, orgId, sandbox, recordingUrl, ask, store, url };
}

const bytesOf = async (response: Response) => new Uint8Array(await response.arrayBuffer());

describe("GET /desktops/:id/recording-url", () => {
  test("answers a URL of all parts as one file, fetched without a key", async () => {
    const { store, url } = await recordedDesktop();
    await store(0, "first");
    await store(10_000, "second");
    const response = await url();
    expect(response.status).toBe(200);
    const body = RecordingUrl.parse(await response.json());
    expect(body).toMatchObject({ expiresInSeconds: 300, durationMs: 20_000, cut: false });
    const fetched = await call(body.url);
    expect(fetched.headers.get("content-type")).toBe("video/webm");
    expect(fetched.headers.get("content-length")).toBe(String(body.sizeBytes));
    const bytes = await bytesOf(fetched);
    expect([...bytes.subarray(0, 4)]).toEqual(EBML);
    const text = new TextDecoder("latin1").decode(bytes);
    // The bytes of the parts, behind heads of the file's own.
    expect(text).toMatch(/first.{22}second/s);
    expect(text).not.toContain("hhh");
  });

  test("serves ranges, and what is there keeps its place while the file grows", async () => {
    const { store, url, recordingUrl } = await recordedDesktop();
    await store(0, "first");
    const whole = await bytesOf(await call(recordingUrl));
    const { sizeBytes } = RecordingUrl.parse(await (await url()).json());
    expect(whole.length).toBe(sizeBytes);
    for (const [from, to] of [
      [0, 3],
      [10, whole.length - 5],
      [whole.length - 40, whole.length - 1],
    ]) {
      const headers = { range: `bytes=${from}-${to}` };
      const part = await call(recordingUrl, { headers });
      expect(part.status).toBe(206);
      expect(part.headers.get("content-range")).toBe(`bytes ${from}-${to}/${whole.length}`);
      expect(await bytesOf(part)).toEqual(whole.slice(from, (to ?? 0) + 1));
    }
    const beyond = await call(recordingUrl, { headers: { range: `bytes=${whole.length}-` } });
    expect(beyond.status).toBe(416);
    await store(10_000, "second");
    const grown = await bytesOf(await call(recordingUrl));
    const at = (bytes: Uint8Array) => new TextDecoder("latin1").decode(bytes).indexOf("first");
    expect(at(grown)).toBe(at(whole));
    // A range of the file as it was before is none of this one.
    const headers = { range: "bytes=0-3", "if-range": '"1-1"' };
    expect((await call(recordingUrl, { headers })).status).toBe(200);
  });

  test("puts run after run, without the time in between", async () => {
    const { store, url } = await recordedDesktop();
    await store(0, "second run", { runAt: RUN_AT + 3_600_000, durationMs: 4_000 });
    await store(5_000, "first run");
    await store(15_000, "its end", { durationMs: 1_500, isCut: true });
    const { durationMs, cut } = RecordingUrl.parse(await (await url()).json());
    expect([durationMs, cut]).toEqual([20_500, true]);
  });

  test("is RecordingPending until a part is stored", async () => {
    const { url, recordingUrl } = await recordedDesktop();
    const response = await url();
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ code: "RecordingPending", retryable: true });
    expect((await call(recordingUrl)).status).toBe(404);
  });

  test("is RecordingUnavailable of a desktop that is not recorded, whose host can store no part", async () => {
    const { url, ask } = await recordedDesktop(false);
    const response = await url();
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ code: "RecordingUnavailable" });
    expect((await ask("part.webm", 5)).status).toBe(404);
  });

  test("outlives its desktop", async () => {
    const { store, url, key, sandbox } = await recordedDesktop();
    await store(0, "first");
    const path = `/desktops/${encodeURIComponent(sandbox)}`;
    expect((await call(path, { method: "DELETE", bearer: key })).status).toBe(200);
    await store(10_000, "its end");
    expect(RecordingUrl.parse(await (await url()).json()).durationMs).toBe(20_000);
  });

  test("is 404 with the same bytes for another org and for an id that is none", async () => {
    const { store, sandbox } = await recordedDesktop();
    await store(0, "first");
    const { key } = await newOrg("starter");
    const texts = new Set<string>();
    for (const id of [sandbox, "nope", sandbox.slice(0, -1)]) {
      const response = await call(`/desktops/${encodeURIComponent(id)}/recording-url`, {
        bearer: key,
      });
      expect(response.status).toBe(404);
      texts.add(await response.text());
    }
    expect(texts.size).toBe(1);
  });

  test("is not noted for a create that fails", async () => {
    await newVmHost({ capabilities: [] });
    const { key, orgId } = await newOrg("starter");
    expect((await call("/desktops", { ...json({ record: true }), bearer: key })).status).toBe(503);
    const noted = env.DB.prepare("SELECT org_id FROM recordings WHERE org_id = ?").bind(orgId);
    await expect.poll(async () => (await noted.all()).results).toEqual([]);
  });
});
