import { previewing, withQuery } from "../../support/worker/previews.ts";
import { env } from "cloudflare:workers";
import { LIMITS } from "@svc/contract/limits.ts";
import { mintFileToken, mintPreviewToken, readPreviewToken } from "@svc/contract/tokens.ts";
import { previewLabel } from "@svc/contract/vm/preview.ts";
import { describe, expect, test } from "vitest";
import { app } from "../../../src/app.ts";
import { call, codeOf, newOrg } from "../../support/worker/gateway.ts";
import { expiryOf, newSandbox, rewind } from "../../support/worker/vm-host.ts";

const unauthorized = { status: 401, code: "PreviewTokenRequired" };
const gone = { status: 404, code: "NotFound" };

describe("minting", () => {
  test("answers a URL by a label of the sandbox and a token of an hour for that port", async () => {
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

  test("gives the same host name each time, and one for each port", async () => {
    const { mint } = await previewing();
    const names = await Promise.all(
      [3000, 3000, 65_535].map(async (port) => new URL((await mint(port)).url).hostname),
    );
    expect(names[0]).toBe(names[1]);
    expect(names[2]).toMatch(/^[0-9a-f]{40}-65535\.preview\.test$/);
  });

  test.each(["0", "65536", "-1", "80.5", "080", "1e3", "http", "%2080", "0x50"])(
    "of the port %s is 400",
    async (port) => {
      const { ask } = await previewing();
      expect(await codeOf(await ask(port))).toEqual({ status: 400, code: "ValidationError" });
    },
  );

  test("is no use of the sandbox and does not reach its host", async () => {
    const { host, id, mint } = await previewing();
    const before = await rewind(id);
    await mint();
    await mint(3000, "?public=1");
    expect(await expiryOf(id)).toBe(before);
    expect((await host.steer()).calls.filter(({ path }) => path.includes("/ports"))).toEqual([]);
  });

  test("is 404 once the sandbox is deleted, and leaves no row", async () => {
    const { org, id, ask, mint } = await previewing();
    await mint();
    await call(`/sandboxes/${id}`, { method: "DELETE", bearer: org.key });
    expect(await codeOf(await ask(3000))).toEqual(gone);
    const rows = env.DB.prepare("SELECT * FROM previews WHERE sandbox_id = ?").bind(id);
    expect((await rows.all()).results).toEqual([]);
  });

  test("is 501 where no domain is set", async () => {
    const { org, id } = await previewing();
    for (const SVC_PREVIEW_DOMAIN of [undefined, ""]) {
      const init = { headers: { authorization: `Bearer ${org.key}` } };
      const bare = { ...env, SVC_PREVIEW_DOMAIN };
      const response = await app.request(`/sandboxes/${id}/ports/80`, init, bare);
      expect(await codeOf(response)).toEqual({ status: 501, code: "NotConfigured" });
    }
  });
});

describe("the token", () => {
  test("opens the port from the query, the header or the cookie it came with", async () => {
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

  test("is in a cookie of the host alone over https", async () => {
    const { mint } = await previewing();
    const url = (await mint()).url.replace("http:", "https:");
    expect((await call(url)).headers.get("set-cookie")).toMatch(/^__Host-svc_token=.*; Secure/);
  });

  test("that is missing, altered, expired or another's is 401", async () => {
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

  test("of one port opens no other one", async () => {
    const { mint } = await previewing();
    const { token } = await mint(3000);
    const { url } = await mint(8000);
    expect(await codeOf(await call(withQuery(url, `?svc_token=${token}`)))).toEqual(unauthorized);
  });

  test("by its former name is refused, with the new one, even where all else is good", async () => {
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

  test("is asked of whoever is refused in the words it understands", async () => {
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
});

describe("a public port", () => {
  test("opens at once to everyone and closes at once", async () => {
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

  test("leaves the others closed", async () => {
    const { mint } = await previewing();
    await mint(3000, "?public=1");
    const { url } = await mint(8000);
    expect(await codeOf(await call(withQuery(url, "")))).toEqual(unauthorized);
  });

  test.each(["", "true", "2", "01", "constructor", "toString", "__proto__", "prototype"])(
    "is not opened by public=%s, nor closed",
    async (wish) => {
      const { mint } = await previewing();
      const { url } = await mint(3000, `?public=${wish}`);
      expect(await codeOf(await call(withQuery(url, "")))).toEqual(unauthorized);
      const opened = await mint(8000, "?public=1");
      expect((await mint(8000, `?public=${wish}`)).url).toBe(opened.url);
    },
  );

  test("is opened by its owner alone", async () => {
    const { ask, mint } = await previewing();
    const other = await newOrg();
    expect(await codeOf(await ask(3000, "?public=1", other.key))).toEqual(gone);
    const { url } = await mint();
    expect(await codeOf(await call(withQuery(url, "")))).toEqual(unauthorized);
  });
});

describe("a host name", () => {
  test("of the domain that is no preview is 404, and the API is not there", async () => {
    const { org, id } = await previewing();
    const label = await previewLabel("nobody's");
    for (const name of [`${label}-3000`, `${label}-0`, label, "www", "a.b", "api"]) {
      for (const path of ["/", "/health", `/sandboxes/${id}`]) {
        const response = await call(`http://${name}.preview.test${path}`, { bearer: org.key });
        expect(await codeOf(response)).toEqual(gone);
      }
    }
  });
});

describe("a sandbox", () => {
  test("that was deleted is 404, a thousand times, and no machine comes of it", async () => {
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

  test("is in use by a request that is let in, and by no other", async () => {
    const { id, mint } = await previewing();
    const { url } = await mint();
    const before = await rewind(id);
    await call(withQuery(url, ""));
    await call(withQuery(url, "?svc_token=x"));
    expect(await expiryOf(id)).toBe(before);
    await call(url);
    expect(await expiryOf(id)).toBeGreaterThan(before);
  });

  test("where nothing listens yet is 425, which is worth trying again", async () => {
    const { mint } = await previewing();
    const { url } = await mint(4000);
    const response = await call(url);
    expect(response.status).toBe(425);
    expect(response.headers.get("retry-after")).toBe("1");
    expect(await response.json()).toMatchObject({ code: "PortNotReady", retryable: true });
    const page = await call(url, { headers: { accept: "text/html" } });
    expect(await page.text()).toContain('http-equiv="refresh"');
  });

  test("that its host lost or cannot reach is 409 or 502", async () => {
    const { host, mint } = await previewing();
    const { url } = await mint();
    await host.steer({ ports: "missing" });
    expect(await codeOf(await call(url))).toEqual({ status: 409, code: "NotRunning" });
    for (const ports of ["fault", "drop"]) {
      await host.steer({ ports });
      expect(await codeOf(await call(url))).toEqual({ status: 502, code: "HostUnreachable" });
    }
  });
});
