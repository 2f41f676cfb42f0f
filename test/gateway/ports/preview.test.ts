import { env } from "cloudflare:workers";
import { LIMITS } from "@svc/contract/limits.ts";
import { readPreviewToken } from "@svc/contract/tokens.ts";
import { previewLabel } from "@svc/contract/vm/preview.ts";
import { expect, test } from "vitest";
import { previewing, withQuery } from "../../support/worker/previews.ts";
import { app } from "../../../src/app.ts";
import { call, codeOf, newOrg } from "../../support/worker/gateway.ts";
import { expiryOf, rewind } from "../../support/worker/vm-host.ts";

const unauthorized = { status: 401, code: "PreviewTokenRequired" };

const gone = { status: 404, code: "NotFound" };

test("a preview is a URL by a label of the sandbox and a token of an hour for that port", async () => {
  const { id, mint } = await previewing();
  const before = Date.now();
  const { url, token } = await mint(3000);
  const { protocol, hostname, pathname, searchParams } = new URL(url);
  expect(hostname).toBe(`${await previewLabel(id)}-3000.preview.test`);
  expect([protocol, pathname, searchParams.get("svc_token")]).toEqual(["http:", "/", token]);
  const claims = await readPreviewToken(env.SVC_SIGNING_SECRET, token, Date.now());
  expect(claims).toMatchObject({ id, port: 3000 });
  expect(claims?.expiresAt).toBeGreaterThanOrEqual(before + LIMITS.previewTokenMs);
});

test("a preview has the same host name each time, and another one for each port", async () => {
  const { mint } = await previewing();
  const names = await Promise.all(
    [3000, 3000, 65_535].map(async (port) => new URL((await mint(port)).url).hostname),
  );
  expect(names[0]).toBe(names[1]);
  expect(names[2]).toMatch(/^[0-9a-f]{40}-65535\.preview\.test$/);
});

test.each(["0", "65536", "-1", "80.5", "080", "1e3", "http", "%2080", "0x50"])(
  "a preview of the port %s is 400",
  async (port) => {
    const { ask } = await previewing();
    expect(await codeOf(await ask(port))).toEqual({ status: 400, code: "ValidationError" });
  },
);

test("minting a preview is no use of the sandbox and does not reach its host", async () => {
  const { host, id, mint } = await previewing();
  const before = await rewind(id);
  await mint();
  await mint(3000, "?public=1");
  expect(await expiryOf(id)).toBe(before);
  expect((await host.steer()).calls.filter(({ path }) => path.includes("/ports"))).toEqual([]);
});

test("a preview of a deleted sandbox is 404, and leaves no row", async () => {
  const { org, id, ask, mint } = await previewing();
  await mint();
  await call(`/sandboxes/${id}`, { method: "DELETE", bearer: org.key });
  expect(await codeOf(await ask(3000))).toEqual(gone);
  const rows = env.DB.prepare("SELECT * FROM previews WHERE sandbox_id = ?").bind(id);
  expect((await rows.all()).results).toEqual([]);
});

test("a preview is 501 where no domain is set", async () => {
  const { org, id } = await previewing();
  for (const SVC_PREVIEW_DOMAIN of [undefined, ""]) {
    const init = { headers: { authorization: `Bearer ${org.key}` } };
    const bare = { ...env, SVC_PREVIEW_DOMAIN };
    const response = await app.request(`/sandboxes/${id}/ports/80`, init, bare);
    expect(await codeOf(response)).toEqual({ status: 501, code: "NotConfigured" });
  }
});

test("a public port opens at once to everyone and closes at once", async () => {
  const { mint } = await previewing();
  const closed = await mint();
  const opened = await mint(3000, "?public=1");
  expect(opened.url).toBe(withQuery(closed.url, ""));
  expect((await call(opened.url)).status).toBe(200);
  // What says nothing changes nothing, and a bad token is none where none is needed.
  expect((await mint(3000)).url).toBe(opened.url);
  expect((await call(`${opened.url}?svc_token=x`)).status).toBe(200);
  const again = await mint(3000, "?public=0");
  expect(await codeOf(await call(opened.url))).toEqual(unauthorized);
  expect((await call(again.url)).status).toBe(200);
});

test("a public port leaves the others closed", async () => {
  const { mint } = await previewing();
  await mint(3000, "?public=1");
  const { url } = await mint(8000);
  expect(await codeOf(await call(withQuery(url, "")))).toEqual(unauthorized);
});

test.each(["", "true", "2", "01", "constructor", "toString", "__proto__", "prototype"])(
  "a port is neither opened nor closed by public=%s",
  async (wish) => {
    const { mint } = await previewing();
    const { url } = await mint(3000, `?public=${wish}`);
    expect(await codeOf(await call(withQuery(url, "")))).toEqual(unauthorized);
    const opened = await mint(8000, "?public=1");
    expect((await mint(8000, `?public=${wish}`)).url).toBe(opened.url);
  },
);

test("a port is opened by its owner alone", async () => {
  const { ask, mint } = await previewing();
  const other = await newOrg();
  expect(await codeOf(await ask(3000, "?public=1", other.key))).toEqual(gone);
  const { url } = await mint();
  expect(await codeOf(await call(withQuery(url, "")))).toEqual(unauthorized);
});
