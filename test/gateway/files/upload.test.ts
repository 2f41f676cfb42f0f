import { fileSandbox } from "../../support/worker/files.ts";
import { env } from "cloudflare:workers";
import { LIMITS } from "@svc/contract/limits.ts";
import { mintObjectToken, mintVmId } from "@svc/contract/tokens.ts";
import { describe, expect, test } from "vitest";
import { call, codeOf, newOrg } from "../../support/worker/gateway.ts";
import { expiryOf, rewind } from "../../support/worker/vm-host.ts";

describe("a file", () => {
  test.each([
    ["text", "hello"],
    ["nothing at all", ""],
    ["all 256 bytes", Uint8Array.from({ length: 256 }, (_, at) => at)],
  ])("of %s goes up and comes down whole", async (_name, body) => {
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

  test("goes up by POST too, and replaces what was there", async () => {
    const { mint, put } = await fileSandbox();
    await put("/tmp/a", "longer than what follows");
    const url = await mint("upload", "/tmp/a");
    const response = await call(url, { method: "POST", body: "short" });
    expect(await response.json()).toEqual({ ok: true, path: "/tmp/a", bytes: 5 });
    expect(await (await call(await mint("download", "/tmp/a"))).text()).toBe("short");
  });

  test("of 32 MiB passes, one byte more is 413 before the body, told or untold", async () => {
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

  test("of an untold length passes too", async () => {
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

  test("that is not there is a clean 404", async () => {
    const { mint } = await fileSandbox();
    const response = await call(await mint("download", "/nowhere"));
    expect(response.headers.get("content-type")).toContain("application/json");
    expect(await codeOf(response)).toEqual({ status: 404, code: "NotFound" });
  });

  test("that breaks off half way breaks off here too", async () => {
    const { host, mint, put } = await fileSandbox();
    await put("/tmp/a", "x".repeat(10_000));
    await host.steer({ files: "cut" });
    const response = await call(await mint("download", "/tmp/a"));
    expect(response.status).toBe(200);
    await expect(response.arrayBuffer()).rejects.toThrow("connection");
  });

  test("is asked of the host with our own bearer, and of the object but once", async () => {
    const { host, org, mint } = await fileSandbox();
    await call(await mint("download", "/tmp/a"));
    const [asked, ...more] = await host.calls("GET", "files?path=%2Ftmp%2Fa");
    expect(more).toEqual([]);
    expect(asked?.org).toBe(org.orgId);
  });
});

describe("an upload by a URL for any path", () => {
  test("says its path itself", async () => {
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
  ])("with %s is 400", async (_name, query) => {
    const { mint } = await fileSandbox();
    const url = await mint("upload");
    const response = await call(url + query, { method: "PUT", body: "1" });
    expect(await codeOf(response)).toEqual({ status: 400, code: "ValidationError" });
  });

  test("where the URL names a path, that one wins, whatever else is said", async () => {
    const { mint } = await fileSandbox();
    const url = await mint("upload", "/tmp/mine");
    for (const query of ["&path=/tmp/other", "&path=../x"]) {
      const response = await call(url + query, { method: "PUT", body: "1" });
      expect(await response.json()).toMatchObject({ path: "/tmp/mine" });
    }
  });
});

describe("a token", () => {
  const get = (token: string) => call(`/files/download?token=${encodeURIComponent(token)}`);
  const refused = { status: 403, code: "InvalidFileToken" };

  test("that is good is one", async () => {
    const { sign, put } = await fileSandbox();
    await put("/tmp/a", "1");
    expect((await get(await sign())).status).toBe(200);
  });

  test("that is missing, malformed, altered, expired or of another purpose is 403", async () => {
    const { id, sign, put } = await fileSandbox();
    await put("/tmp/a", "1");
    const good = await sign();
    const expiresAt = Date.now() + 60_000;
    const object = { act: "get", key: "k", contentType: "a/b", expiresAt } as const;
    const [head = "", tail = ""] = good.split(".");
    const other = await sign({ path: "/etc/shadow" });
    const bad = [
      "",
      "nonsense",
      `${good}.`,
      `${good}A`,
      good.slice(0, -1),
      `${other.split(".")[0]}.${tail}`,
      `${head}=.${tail}`,
      await sign({}, "another secret"),
      await sign({ expiresAt: Date.now() }),
      await sign({ mode: "upload" }),
      await mintObjectToken(env.SVC_SIGNING_SECRET, object),
      id,
    ];
    for (const token of bad) expect(await codeOf(await get(token))).toEqual(refused);
    expect(await codeOf(await call("/files/download"))).toEqual(refused);
    const altered = Array.from(good, (character, at) => {
      const other = character === "A" ? "B" : "A";
      return good.slice(0, at) + other + good.slice(at + 1);
    });
    for (const token of altered.filter((_, at) => at % 17 === 0))
      expect(await codeOf(await get(token))).toEqual(refused);
  });

  test("of a download uploads nothing", async () => {
    const { host, sign } = await fileSandbox();
    for (const method of ["PUT", "POST"]) {
      const url = `/files/upload?token=${await sign()}`;
      expect(await codeOf(await call(url, { method, body: "1" }))).toEqual(refused);
    }
    expect((await host.steer()).files).toEqual({});
  });

  test("needs no key, and a key is none", async () => {
    const { org } = await fileSandbox();
    expect(await codeOf(await call("/files/download", { bearer: org.key }))).toEqual(refused);
  });

  test("of an org that does not own the sandbox is 404, like one of a sandbox that never was", async () => {
    const { org, sign } = await fileSandbox();
    const strange = { org: (await newOrg()).orgId };
    const never = await mintVmId(env.SVC_SIGNING_SECRET, { org: org.orgId, issuedAt: 1 });
    const tokens = [await sign(strange), await sign({ id: never }), await sign({ id: "nope" })];
    for (const token of tokens)
      expect(await codeOf(await get(token))).toEqual({ status: 404, code: "NotFound" });
  });
});

describe("a sandbox", () => {
  test("that was deleted is 404 at once, and its host is not asked", async () => {
    const { host, org, id, mint, put } = await fileSandbox();
    const [down, up] = [await mint("download", "/tmp/a"), await mint("upload", "/tmp/a")];
    await put("/tmp/a", "1");
    await call(`/sandboxes/${id}`, { method: "DELETE", bearer: org.key });
    const gone = { status: 404, code: "NotFound" };
    expect(await codeOf(await call(down))).toEqual(gone);
    expect(await codeOf(await call(up, { method: "PUT", body: "2" }))).toEqual(gone);
    expect(await host.calls("GET", "files?path=%2Ftmp%2Fa")).toEqual([]);
  });

  test.each([
    ["fault", 502, "HostUnreachable"],
    ["drop", 502, "HostUnreachable"],
    ["away", 502, "HostUnreachable"],
    ["missing", 409, "NotRunning"],
    ["directory", 404, "NotFound"],
  ])("whose host answers a download with %s is %i", async (files, status, name) => {
    const { host, mint, put } = await fileSandbox();
    await put("/tmp/a", "1");
    await host.steer({ files });
    expect(await codeOf(await call(await mint("download", "/tmp/a")))).toEqual({
      status,
      code: name,
    });
  });

  test.each([
    ["fault", 502, "HostUnreachable"],
    ["drop", 502, "HostUnreachable"],
    ["away", 502, "HostUnreachable"],
    ["odd", 502, "HostUnreachable"],
    ["missing", 409, "NotRunning"],
    ["full", 400, "GuestRefused"],
    ["directory", 400, "GuestRefused"],
  ])("whose host answers an upload with %s is %i", async (files, status, name) => {
    const { host, put } = await fileSandbox();
    await host.steer({ files });
    expect(await codeOf(await put("/tmp/a", "1"))).toEqual({ status, code: name });
  });

  test("is in use by a fetch and by an upload, and not by one that is refused", async () => {
    const { id, mint, put } = await fileSandbox();
    await put("/tmp/a", "1");
    const [down, up] = [await mint("download", "/tmp/a"), await mint("upload", "/tmp/a")];
    for (const url of [down, up]) {
      const init = url === up ? { method: "PUT", body: "2" } : {};
      const before = await rewind(id);
      await call(`${url}x`, init);
      expect(await expiryOf(id)).toBe(before);
      await call(url, init);
      expect(await expiryOf(id)).toBeGreaterThan(before);
    }
  });
});
