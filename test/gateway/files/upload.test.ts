import { LIMITS } from "@svc/contract/limits.ts";
import { expect, test } from "vitest";
import { fileSandbox } from "../../support/worker/files.ts";
import { call, codeOf } from "../../support/worker/gateway.ts";

test.each([
  ["text", "hello"],
  ["nothing at all", ""],
  ["all 256 bytes", Uint8Array.from({ length: 256 }, (_, at) => at)],
])("a file of %s goes up and comes down whole", async (_name, body) => {
  const { mint, put } = await fileSandbox();
  const up = await put("/tmp/a b/ü.bin", body);
  expect(up.status).toBe(200);
  expect(await up.json()).toEqual({ ok: true, path: "/tmp/a b/ü.bin", bytes: body.length });
  const down = await call(await mint("download", "/tmp/a b/ü.bin"));
  expect(down.status).toBe(200);
  expect(down.headers.get("content-type")).toBe("application/octet-stream");
  expect(down.headers.get("content-disposition")).toBe(
    `attachment; filename="_.bin"; filename*=UTF-8''%C3%BC.bin`,
  );
  expect(down.headers.get("cache-control")).toContain("no-store");
  const bytes = new Uint8Array(await down.arrayBuffer());
  expect(bytes).toEqual(typeof body === "string" ? new TextEncoder().encode(body) : body);
});

test("a file goes up by POST too, and replaces what was there", async () => {
  const { mint, put } = await fileSandbox();
  await put("/tmp/a", "longer than what follows");
  const url = await mint("upload", "/tmp/a");
  const response = await call(url, { method: "POST", body: "short" });
  expect(await response.json()).toEqual({ ok: true, path: "/tmp/a", bytes: 5 });
  expect(await (await call(await mint("download", "/tmp/a"))).text()).toBe("short");
});

test("a file of 32 MiB is taken, one byte more is 413 before the body, whether its length is told or not", async () => {
  const { host, put } = await fileSandbox();
  const most = new Uint8Array(LIMITS.fileBodyBytes);
  expect((await put("/big", most)).status).toBe(200);
  expect((await host.steer()).files["/big"]).toBe(LIMITS.fileBodyBytes);
  const more = new Uint8Array(LIMITS.fileBodyBytes + 1);
  const untold = new ReadableStream({
    start(controller) {
      controller.enqueue(more);
      controller.close();
    },
  });
  for (const body of [more, untold]) {
    const response = await put("/more", body);
    expect(response.status).toBe(413);
    expect(await response.json()).toMatchObject({
      code: "PayloadTooLarge",
      limit: LIMITS.fileBodyBytes,
    });
  }
  // Not even by its first part: what is cut never looks whole.
  expect((await host.steer()).files).not.toHaveProperty("/more");
});

test("an upload of an untold length is taken", async () => {
  const { put } = await fileSandbox();
  const parts = new ReadableStream({
    start(controller) {
      for (const text of ["one ", "two ", "three"])
        controller.enqueue(new TextEncoder().encode(text));
      controller.close();
    },
  });
  expect(await (await put("/tmp/a", parts)).json()).toMatchObject({ bytes: 13 });
});

test("an upload by a URL for any path says its path itself", async () => {
  const { mint } = await fileSandbox();
  const url = await mint("upload");
  const response = await call(`${url}&path=/tmp/x`, { method: "PUT", body: "1" });
  expect(await response.json()).toEqual({ ok: true, path: "/tmp/x", bytes: 1 });
});

test.each([
  ["none", ""],
  ["a relative one", "&path=x"],
  ["one with a .. segment", "&path=/tmp/%2e%2e/x"],
  ["one with a NUL", "&path=/tmp/%00"],
])("an upload by a URL for any path, with a path that is %s, is 400", async (_name, query) => {
  const { mint } = await fileSandbox();
  const url = await mint("upload");
  const response = await call(url + query, { method: "PUT", body: "1" });
  expect(await codeOf(response)).toEqual({ status: 400, code: "ValidationError" });
});

test("an upload by a URL for one path goes there, whatever else is said", async () => {
  const { mint } = await fileSandbox();
  const url = await mint("upload", "/tmp/mine");
  for (const query of ["&path=/tmp/other", "&path=../x"]) {
    const response = await call(url + query, { method: "PUT", body: "1" });
    expect(await response.json()).toMatchObject({ path: "/tmp/mine" });
  }
});

const refused = { status: 403, code: "InvalidFileToken" };

test("a token of a download uploads nothing", async () => {
  const { host, sign } = await fileSandbox();
  for (const method of ["PUT", "POST"]) {
    const url = `/files/upload?token=${await sign()}`;
    expect(await codeOf(await call(url, { method, body: "1" }))).toEqual(refused);
  }
  expect((await host.steer()).files).toEqual({});
});

test.each([
  ["fault", 502, "HostUnreachable"],
  ["drop", 502, "HostUnreachable"],
  ["away", 502, "HostUnreachable"],
  ["odd", 502, "HostUnreachable"],
  ["missing", 409, "NotRunning"],
  ["paused", 409, "NotRunning"],
  ["full", 400, "GuestRefused"],
  ["directory", 400, "GuestRefused"],
])("an upload to a host that answers %s is %i", async (files, status, name) => {
  const { host, put } = await fileSandbox();
  await host.steer({ files });
  expect(await codeOf(await put("/tmp/a", "1"))).toEqual({ status, code: name });
});
