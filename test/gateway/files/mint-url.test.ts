import { env } from "cloudflare:workers";
import { readFileToken } from "@svc/contract/tokens.ts";
import { SignedFileUrl } from "@svc/contract/vm/files.ts";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { BASE, call, newOrg } from "../../support/worker/gateway.ts";
import { newSandbox, newVmHost, type VmHost } from "../../support/worker/vm-host.ts";

let host: VmHost;

let key = "";

let orgId = "";

let id = "";

beforeAll(async () => {
  host = await newVmHost();
  ({ key, orgId } = await newOrg());
  id = (await newSandbox(key)).sandboxId;
});

// One that is not heard for 15 s would be away.
beforeEach(() => host.beat());

const mint = (mode: string, query = "", sandbox = id, bearer = key) =>
  call(`/sandboxes/${encodeURIComponent(sandbox)}/files/${mode}-url${query}`, { bearer });

async function claimsOf(response: Response) {
  expect(response.status).toBe(200);
  const { url, expiresAt } = SignedFileUrl.parse(await response.json());
  const token = new URL(url).searchParams.get("token") ?? "";
  const claims = await readFileToken(env.SVC_SIGNING_SECRET, token, Date.now());
  return { url, expiresAt: Date.parse(expiresAt), claims };
}

test("a file URL is bound to one sandbox, org, path and mode, for 15 minutes", async () => {
  const before = Date.now();
  const { url, expiresAt, claims } = await claimsOf(await mint("download", "?path=/tmp/a%20b"));
  expect(url).toMatch(new RegExp(`^${BASE}/files/download\\?token=`));
  expect(claims).toEqual({ org: orgId, id, mode: "download", path: "/tmp/a b", expiresAt });
  expect(expiresAt - before).toBeGreaterThanOrEqual(15 * 60_000);
  expect(expiresAt - Date.now()).toBeLessThanOrEqual(15 * 60_000);
});

test("an upload URL is for its path, or for any where it names none", async () => {
  const pinned = await claimsOf(await mint("upload", "?path=/a"));
  expect(pinned.url).toMatch(new RegExp(`^${BASE}/files/upload\\?token=`));
  expect(pinned.claims).toMatchObject({ mode: "upload", path: "/a" });
  expect((await claimsOf(await mint("upload"))).claims).toMatchObject({ path: null });
});

describe.each(["download", "upload"])("the path of a %s URL", (mode) => {
  test.each([
    ["relative", "a/b"],
    ["empty", ""],
    ["with a .. segment", "/a/../b"],
    ["ending in ..", "/a/.."],
    ["that is ..", "/.."],
    ["with an encoded ..", "/a/%2e%2e/b"],
    ["with a half encoded ..", "/a/.%2E/b"],
    ["with encoded slashes around it", "%2Fa%2F..%2Fb"],
    ["with a NUL", "/a%00b"],
    ["of 4,097 characters", `/${"x".repeat(4096)}`],
  ])("the path of a file URL: %s is 400", async (_name, path) => {
    const response = await mint(mode, `?path=${path}`);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code: "ValidationError", field: "path" });
  });

  test.each([
    ["with dots that are no segment", "/a/..b/c../...", "/a/..b/c../..."],
    ["of 4,096 characters", `/${"x".repeat(4095)}`, `/${"x".repeat(4095)}`],
    ["encoded twice, which is another name", "/a/%252e%252e/b", "/a/%2e%2e/b"],
    ["with backslashes, which are no separators", "/a\\..\\b", "/a\\..\\b"],
    ["with a line break", "/a%0Ab", "/a\nb"],
    ["that nothing is at", "/nowhere", "/nowhere"],
  ])("the path of a file URL: %s is signed as it is", async (_name, path, signed) => {
    const { claims } = await claimsOf(await mint(mode, `?path=${path}`));
    expect(claims?.path).toBe(signed);
  });
});

test("a download URL needs a path", async () => {
  expect((await mint("download")).status).toBe(400);
});

test("minting a file URL touches neither the guest nor the idle window", async () => {
  const read = async () =>
    (await (await call("/sandboxes", { bearer: key })).json<{ sandboxes: unknown }>()).sandboxes;
  const before = [await read(), await host.calls("GET", "files")];
  await mint("download", "?path=/a");
  expect([await read(), await host.calls("GET", "files")]).toEqual(before);
});

test("a sandbox that is gone has no file URLs", async () => {
  const { sandboxId } = await newSandbox((await newOrg()).key);
  const other = await newOrg();
  const mine = (await newSandbox(other.key)).sandboxId;
  await call(`/sandboxes/${mine}`, { method: "DELETE", bearer: other.key });
  for (const mode of ["download", "upload"]) {
    for (const lost of [mine, sandboxId]) {
      const response = await mint(mode, "?path=/a", lost, other.key);
      expect(response.status).toBe(404);
      expect(await response.text()).toBe('{"error":"There is no such sandbox.","code":"NotFound"}');
    }
  }
});
