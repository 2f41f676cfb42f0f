import { env } from "cloudflare:workers";
import { mintObjectToken, mintVmId } from "@svc/contract/tokens.ts";
import { expect, test } from "vitest";
import { fileSandbox } from "../../support/worker/files.ts";
import { call, codeOf, newOrg } from "../../support/worker/gateway.ts";
import { expiryOf, rewind } from "../../support/worker/vm-host.ts";

const get = (token: string) => call(`/files/download?token=${encodeURIComponent(token)}`);

test("a good token downloads the file", async () => {
  const { sign, put } = await fileSandbox();
  await put("/tmp/a", "1");
  expect((await get(await sign())).status).toBe(200);
});

const refused = { status: 403, code: "InvalidFileToken" };

test("a token that is missing, malformed, altered, expired or of another purpose is 403", async () => {
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

test("a download needs no key, and a key is no token", async () => {
  const { org } = await fileSandbox();
  expect(await codeOf(await call("/files/download", { bearer: org.key }))).toEqual(refused);
});

test("a token of an org that does not own the sandbox is 404, like a token of a sandbox that never was", async () => {
  const { org, sign } = await fileSandbox();
  const strange = { org: (await newOrg()).orgId };
  const never = await mintVmId(env.SVC_SIGNING_SECRET, { org: org.orgId, issuedAt: 1 });
  const tokens = [await sign(strange), await sign({ id: never }), await sign({ id: "nope" })];
  for (const token of tokens)
    expect(await codeOf(await get(token))).toEqual({ status: 404, code: "NotFound" });
});

test("a download of a file that is not there is a clean 404", async () => {
  const { mint } = await fileSandbox();
  const response = await call(await mint("download", "/nowhere"));
  expect(response.headers.get("content-type")).toContain("application/json");
  expect(await codeOf(response)).toEqual({ status: 404, code: "NotFound" });
});

test("a download that breaks off half way breaks off here too", async () => {
  const { host, mint, put } = await fileSandbox();
  await put("/tmp/a", "x".repeat(10_000));
  await host.steer({ files: "cut" });
  const response = await call(await mint("download", "/tmp/a"));
  expect(response.status).toBe(200);
  await expect(response.arrayBuffer()).rejects.toThrow("connection");
});

test("a download is asked of the host with our own bearer, and of the object once", async () => {
  const { host, org, mint } = await fileSandbox();
  await call(await mint("download", "/tmp/a"));
  const [asked, ...more] = await host.calls("GET", "files?path=%2Ftmp%2Fa");
  expect(more).toEqual([]);
  expect(asked?.org).toBe(org.orgId);
});

test("a transfer of a sandbox that was deleted is 404 at once, and its host is not asked", async () => {
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
  ["paused", 409, "NotRunning"],
  ["directory", 400, "GuestRefused"],
])("a download from a host that answers %s is %i", async (files, status, name) => {
  const { host, mint, put } = await fileSandbox();
  await put("/tmp/a", "1");
  await host.steer({ files });
  expect(await codeOf(await call(await mint("download", "/tmp/a")))).toEqual({
    status,
    code: name,
  });
});

test("a sandbox is in use by a download and by an upload, and not by a transfer that is refused", async () => {
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
