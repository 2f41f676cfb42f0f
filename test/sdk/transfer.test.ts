// Bodies that are streams: aborted in the middle, cut in the middle, and sent once.
import { gzipSync } from "node:zlib";
import { ConnectionError, type Sandbox, Svc } from "@svc/sdk/index.ts";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type Answer, FaultyServer } from "./faulty-server.ts";

let server: FaultyServer;
let svc: Svc;
let box: Sandbox;
beforeAll(async () => {
  server = await FaultyServer.start();
  vi.spyOn(Math, "random").mockReturnValue(0);
  svc = new Svc({ apiKey: "svc_live_a_b", baseUrl: server.url });
  server.script({ status: 200, body: { state: "running" } });
  box = await svc.sandboxes.connect("s1");
});
afterAll(async () => {
  vi.restoreAllMocks();
  await server.close();
});

const signed = (): Answer => ({ status: 200, body: { url: `${server.url}/files/x?token=t` } });
const read = async (body: ReadableStream<Uint8Array>): Promise<string> => new Response(body).text();

describe("a download", () => {
  test("is aborted in the middle, long after its call has answered", async () => {
    server.script(signed(), "begun");
    const abort = new AbortController();
    const reason = new Error("enough");
    const reader = (await box.transfer.download("/a", { signal: abort.signal })).getReader();
    expect(new TextDecoder().decode((await reader.read()).value)).toBe("first");
    const rest = reader.read();
    abort.abort(reason);
    await expect(rest).rejects.toBe(reason);
  });

  test("that is cut is an error, never a short file", async () => {
    server.script(signed(), "cut");
    await expect(read(await box.transfer.download("/a"))).rejects.toBeInstanceOf(ConnectionError);
  });

  test("is asked again when its answer does not begin, without the key", async () => {
    server.script(signed(), "reset", { status: 502 }, { status: 206, text: "bytes" });
    expect(await read(await box.transfer.download("/a", { offset: 5, length: 5 }))).toBe("bytes");
    const [, ...asked] = server.got.map(({ headers }) => [headers.range, headers.authorization]);
    expect(asked).toEqual(Array(3).fill(["bytes=5-9", undefined]));
  });
});

describe("an upload", () => {
  const stored: Answer = { status: 200, body: { ok: true, path: "/a", bytes: 4 } };
  const stream = (): ReadableStream<Uint8Array> => new Blob(["data"]).stream();

  test("of bytes is sent again, of a stream once", async () => {
    server.script(signed(), "reset", stored);
    expect(await box.transfer.upload("/a", "data")).toMatchObject({ bytes: 4 });
    expect(server.got.map(({ body }) => body)).toEqual(["", "data", "data"]);
    server.script(signed(), "reset", stored);
    await expect(box.transfer.upload("/a", stream())).rejects.toBeInstanceOf(ConnectionError);
    expect(server.got).toHaveLength(2);
    server.script(signed(), stored);
    await box.transfer.upload("/a", stream());
    expect(server.got[1]).toMatchObject({ method: "PUT", body: "data" });
    expect(server.got[1]?.headers.authorization).toBeUndefined();
  });

  test("is aborted in the middle", async () => {
    server.script(signed(), "silence");
    const abort = new AbortController();
    const reason = new Error("enough");
    const sending = box.transfer.upload("/a", "data", { signal: abort.signal });
    sending.catch(() => {});
    await server.has(2);
    abort.abort(reason);
    await expect(sending).rejects.toBe(reason);
  });
});

describe("a replay", () => {
  const events = '{"type":1}\n{"type":2,"text":"ä"}\n';

  test.each([
    ["gzip", gzipSync(events).toString("latin1")],
    ["identity", events],
  ])("is decompressed when its encoding is %s", async (contentEncoding, text) => {
    const pending: Answer = {
      status: 404,
      body: { error: "", code: "ReplayPending", retryable: true },
    };
    const url: Answer = { status: 200, body: { url: `${server.url}/objects/t`, contentEncoding } };
    server.script(pending, pending, pending, pending, url, {
      status: 200,
      bytes: Buffer.from(text, contentEncoding === "gzip" ? "latin1" : "utf8"),
    });
    const heard = [];
    for await (const event of svc.browsers.replay("s1").events()) heard.push(event);
    expect(heard).toEqual([{ type: 1 }, { type: 2, text: "ä" }]);
    expect(server.got.at(-1)?.headers.authorization).toBeUndefined();
  });

  test("that will never be there is not waited for", async () => {
    server.script({ status: 404, body: { error: "", code: "ReplayUnavailable" } });
    await expect(svc.browsers.replay("s1").wait()).rejects.toMatchObject({
      code: "ReplayUnavailable",
    });
    expect(server.got).toHaveLength(1);
  });
});

test("a preview's URL keeps the token, and goes nowhere else", async () => {
  server.script({
    status: 200,
    body: { url: "https://l-3000.p.test/?svc_token=secret", token: "secret" },
  });
  const preview = await box.preview(3000);
  expect(preview.url("/a/b?c=1&svc_token=other#d")).toBe(
    "https://l-3000.p.test/a/b?c=1&svc_token=secret#d",
  );
  expect(preview.url()).toBe("https://l-3000.p.test/?svc_token=secret");
  for (const path of ["//evil.test/", "https://evil.test/", "\\\\evil.test"])
    expect(() => preview.url(path)).toThrow(TypeError);
  server.script({ status: 200, body: { url: "https://l-3000.p.test/", token: "secret" } });
  expect((await box.preview(3000, { public: true })).url("/a")).toBe("https://l-3000.p.test/a");
  expect(server.got[0]?.path).toBe("/sandboxes/s1/ports/3000?public=1");
});
