import { env } from "cloudflare:workers";
import { mintFileToken, mintPreviewToken } from "@svc/contract/tokens.ts";
import { previewLabel } from "@svc/contract/vm/preview.ts";
import { expect, test } from "vitest";
import { previewing, withQuery } from "../../support/worker/previews.ts";
import { call, codeOf } from "../../support/worker/gateway.ts";
import { expiryOf, newSandbox, rewind } from "../../support/worker/vm-host.ts";

const unauthorized = { status: 401, code: "PreviewTokenRequired" };

const gone = { status: 404, code: "NotFound" };

test("a preview opens by its token in the query, in the header, and in the cookie that it sets", async () => {
  const { mint } = await previewing();
  const { url, token } = await mint();
  const first = await call(url);
  expect(first.status).toBe(200);
  expect(first.headers.get("x-inside")).toBe("1");
  const cookie = first.headers.get("set-cookie") ?? "";
  expect(cookie).toMatch(
    /^svc_token=[^;]+; Path=\/; Max-Age=3(600|5\d\d); HttpOnly; SameSite=Lax$/,
  );
  const bare = withQuery(url, "");
  const [pair = ""] = cookie.split(";");
  for (const headers of [{ cookie: pair }, { "x-svc-preview-token": token }]) {
    const response = await call(bare, { headers });
    expect(response.status).toBe(200);
    expect(response.headers.get("set-cookie")).toBeNull();
  }
});

test("a tab is led to the URL without the token, so that no script reads it there; nobody else is", async () => {
  const { mint } = await previewing();
  const { url, token } = await mint();
  const tab = { "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };
  const ask = (href: string, init: RequestInit) => call(href, { redirect: "manual", ...init });
  const at = new URL(url);
  for (const [path, location] of [
    ["/", "/"],
    [`/a%2Fb?x=1&svc_token=${token}&y`, "/a%2Fb?x=1&y"],
    [`//evil.test/?svc_token=${token}`, "/.//evil.test/"],
  ] as const) {
    const href = at.origin + (path === "/" ? `/${at.search}` : path);
    const led = await ask(href, { headers: tab });
    expect([led.status, led.headers.get("location")]).toEqual([302, location]);
    expect(led.headers.get("cache-control")).toBe("no-store");
    expect(new URL(location, at).host).toBe(at.host);
    const [cookie = ""] = (led.headers.get("set-cookie") ?? "").split(";");
    const followed = await call(new URL(location, at).href, { headers: { ...tab, cookie } });
    expect(followed.status).toBe(200);
  }
  for (const init of [
    {},
    { method: "POST", headers: tab },
    { headers: { ...tab, "sec-fetch-dest": "iframe" } },
    { headers: { "sec-fetch-mode": "cors", "sec-fetch-dest": "empty" } },
  ])
    expect((await ask(url, init)).status).toBe(200);
  const wrong = await ask(withQuery(url, "?svc_token=x"), { headers: tab });
  expect(await codeOf(wrong)).toEqual(unauthorized);
});

test("a preview's cookie opens nothing from another origin, and everything from its own", async () => {
  const { mint } = await previewing();
  const { url } = await mint();
  const [cookie = ""] = ((await call(url)).headers.get("set-cookie") ?? "").split(";");
  const bare = withQuery(url, "");
  const from = (origin: string, more: Record<string, string>, method: string) =>
    call(bare, { method, headers: { cookie, origin, ...more } });
  const events = { accept: "text/event-stream" };
  const socket = { upgrade: "websocket" };
  for (const [more, method] of [
    [{}, "GET"],
    [{}, "POST"],
    [events, "GET"],
    [socket, "GET"],
  ] as const) {
    expect(await codeOf(await from("http://evil.test", more, method))).toEqual(unauthorized);
    expect((await from(new URL(url).origin, more, method)).status).toBeLessThan(400);
  }
});

test("a preview's token is in a cookie of the host alone over https", async () => {
  const { mint } = await previewing();
  const url = (await mint()).url.replace("http:", "https:");
  expect((await call(url)).headers.get("set-cookie")).toMatch(/^__Host-svc_token=.*; Secure/);
});

test("a preview's token that is missing, altered, expired or another's is 401", async () => {
  const { org, id, mint } = await previewing();
  const { url, token } = await mint();
  const claims = { id, port: 3000, expiresAt: Date.now() + 60_000 };
  const sign = (facts: object, secret = env.SVC_SIGNING_SECRET) =>
    mintPreviewToken(secret, { ...claims, ...facts });
  expect((await call(withQuery(url, `?svc_token=${await sign({})}`))).status).toBe(200);
  const other = await newSandbox(org.key);
  const file = {
    id,
    org: org.orgId,
    mode: "download",
    path: "/",
    expiresAt: claims.expiresAt,
  } as const;
  const bad = [
    "",
    "nonsense",
    token.slice(0, -1),
    `${token}A`,
    token.toUpperCase(),
    await sign({ port: 3001 }),
    await sign({ id: other.sandboxId }),
    await sign({ expiresAt: Date.now() }),
    await sign({}, "another secret"),
    await mintFileToken(env.SVC_SIGNING_SECRET, file),
    org.key,
    id,
  ];
  for (const shown of bad) {
    expect(await codeOf(await call(withQuery(url, `?svc_token=${shown}`)))).toEqual(unauthorized);
    const headers = { "x-svc-preview-token": shown };
    expect(await codeOf(await call(withQuery(url, ""), { headers }))).toEqual(unauthorized);
  }
  expect(await codeOf(await call(withQuery(url, "")))).toEqual(unauthorized);
  expect(await codeOf(await call(withQuery(url, ""), { bearer: org.key }))).toEqual(unauthorized);
});

test("a preview's token of one port opens no other port", async () => {
  const { mint } = await previewing();
  const { token } = await mint(3000);
  const { url } = await mint(8000);
  expect(await codeOf(await call(withQuery(url, `?svc_token=${token}`)))).toEqual(unauthorized);
});

test("a preview's token by its former name is refused with the new name, even where all else is good", async () => {
  const { mint } = await previewing();
  const { url, token } = await mint(3000, "?public=1");
  const asked = [
    call(`${url}?preview_token=${token}`),
    call(`${url}?preview_token=${token}&svc_token=${token}`),
    call(url, { headers: { "x-preview-token": token } }),
    call(url, { headers: { cookie: `preview_token=${token}` } }),
  ];
  const names = ["svc_token", "svc_token", "x-svc-preview-token", "svc_token"];
  for (const [index, answer] of (await Promise.all(asked)).entries()) {
    expect(answer.status).toBe(401);
    const body = await answer.json<{ error: string; code: string }>();
    expect(body.code).toBe("RenamedCredential");
    expect(body.error).toContain(names[index]);
  }
});

test("a preview asks for its token in the words that the client understands", async () => {
  const { mint } = await previewing();
  const { url } = await mint();
  const page = await call(withQuery(url, ""), { headers: { accept: "text/html,*/*;q=0.8" } });
  expect([page.status, page.headers.get("content-type")]).toEqual([
    401,
    "text/html; charset=utf-8",
  ]);
  expect(await page.text()).toContain("<title>This preview needs its link</title>");
  const json = await call(withQuery(url, ""), { headers: { accept: "application/json" } });
  expect(json.headers.get("content-type")).toBe("application/json");
  expect(json.headers.get("cache-control")).toBe("no-store");
});

test("a host name of the domain that is no preview is 404, and the API is not there", async () => {
  const { org, id } = await previewing();
  const label = await previewLabel("nobody's");
  for (const name of [`${label}-3000`, `${label}-0`, label, "www", "a.b", "api"]) {
    for (const path of ["/", "/health", `/sandboxes/${id}`]) {
      const response = await call(`http://${name}.preview.test${path}`, { bearer: org.key });
      expect(await codeOf(response)).toEqual(gone);
    }
  }
});

test("a preview of a sandbox that was deleted is 404, a thousand times, and no machine is started", async () => {
  const { host, org, id, mint } = await previewing();
  const secret = await mint();
  const open = await mint(8000, "?public=1");
  await call(`/sandboxes/${id}`, { method: "DELETE", bearer: org.key });
  const before = (await host.steer()).calls.length;
  const urls = [
    secret.url,
    open.url,
    withQuery(secret.url, "?svc_token=x"),
    withQuery(secret.url, ""),
  ];
  for (let round = 0; round < 25; round += 1) {
    const asked = Array.from({ length: 40 }, (_, index) => call(urls[index % 4] ?? ""));
    for (const answer of await Promise.all(asked)) expect(await codeOf(answer)).toEqual(gone);
  }
  const { calls, vms } = await host.steer();
  expect([calls.length, vms]).toEqual([before, []]);
});

test("a preview is use of the sandbox when the request is let in, and only then", async () => {
  const { id, mint } = await previewing();
  const { url } = await mint();
  const before = await rewind(id);
  await call(withQuery(url, ""));
  await call(withQuery(url, "?svc_token=x"));
  expect(await expiryOf(id)).toBe(before);
  await call(url);
  expect(await expiryOf(id)).toBeGreaterThan(before);
});

test("a preview where nothing listens yet is 425, which is worth trying again", async () => {
  const { mint } = await previewing();
  const { url } = await mint(4000);
  const response = await call(url);
  expect(response.status).toBe(425);
  expect(response.headers.get("retry-after")).toBe("1");
  expect(await response.json()).toMatchObject({ code: "PortNotReady", retryable: true });
  const page = await call(url, { headers: { accept: "text/html" } });
  expect(await page.text()).toContain('http-equiv="refresh"');
});

test("a preview of a machine that its host lost or cannot reach is 409 or 502", async () => {
  const { host, mint } = await previewing();
  const { url } = await mint();
  for (const ports of ["missing", "paused"]) {
    await host.steer({ ports });
    expect(await codeOf(await call(url))).toEqual({ status: 409, code: "NotRunning" });
  }
  for (const ports of ["fault", "drop"]) {
    await host.steer({ ports });
    expect(await codeOf(await call(url))).toEqual({ status: 502, code: "HostUnreachable" });
  }
});

test("a preview of a machine that has all it may have open is 429 until one request ends", async () => {
  const { host, mint } = await previewing();
  const { url } = await mint();
  await host.steer({ ports: "busy" });
  const response = await call(url);
  expect(response.status).toBe(429);
  expect(await response.json()).toMatchObject({ code: "PreviewBusy" });
});
