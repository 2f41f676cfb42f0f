import { SessionFile } from "@svc/contract/browser/session-file.ts";
import { describe, expect, test } from "vitest";
import { BASE, call, codeOf } from "../../support/worker/gateway.ts";
import { placed } from "../../support/worker/session.ts";

describe("GET /sessions/:id/files/:name", async () => {
  const { pool, key, id } = await placed();
  const at = (name: string) => `/sessions/${id}/files/${encodeURIComponent(name)}`;
  const put = (name: string, body: string) => call(at(name), { method: "PUT", bearer: key, body });

  async function urlOf(name: string): Promise<string> {
    const file = SessionFile.parse(await (await call(at(name), { bearer: key })).json());
    return file.url?.slice(BASE.length) ?? "";
  }

  test.each([
    ["a.txt", `attachment; filename="a.txt"`],
    [
      `é"\\;😀.pdf`,
      `attachment; filename="___;_.pdf"; filename*=UTF-8''%C3%A9%22%5C%3B%F0%9F%98%80.pdf`,
    ],
    ["100%2F.txt", `attachment; filename="100_2F.txt"; filename*=UTF-8''100%252F.txt`],
    ["שלום.txt", `attachment; filename="____.txt"; filename*=UTF-8''%D7%A9%D7%9C%D7%95%D7%9D.txt`],
  ])(
    "%j has a URL that serves it under its name, and as nothing else",
    async (name, disposition) => {
      await put(name, "bytes");
      const response = await call(await urlOf(name));
      expect(response.status).toBe(200);
      expect(await response.text()).toBe("bytes");
      expect(response.headers.get("content-disposition")).toBe(disposition);
      expect(response.headers.get("x-content-type-options")).toBe("nosniff");
      expect(response.headers.get("content-type")).toBe("application/octet-stream");
      expect(response.headers.get("cache-control")).toContain("no-store");
    },
  );

  test("its URL serves HEAD and one range", async () => {
    await put("r", "0123456789");
    const url = await urlOf("r");
    const part = await call(url, { headers: { range: "bytes=2-4" } });
    expect([part.status, await part.text()]).toEqual([206, "234"]);
    expect(part.headers.get("content-range")).toBe("bytes 2-4/10");
    const beyond = await call(url, { headers: { range: "bytes=99-" } });
    expect(await codeOf(beyond)).toEqual({ status: 416, code: "RangeNotSatisfiable" });
    const head = await call(url, { method: "HEAD" });
    expect([head.status, await head.text()]).toEqual([200, ""]);
  });

  test("a file that is not there is 404", async () => {
    expect(await codeOf(await call(at("none"), { bearer: key }))).toEqual({
      status: 404,
      code: "NotFound",
    });
  });

  test.each([
    ["missing", 404, "NotFound"],
    ["inProgress", 409, "FileInProgress"],
    ["tooLarge", 413, "PayloadTooLarge"],
    ["overQuota", 409, "SessionFilesFull"],
    ["fault", 503, "PoolUnreachable"],
    ["drop", 503, "PoolUnreachable"],
  ])("its URL at a pool that answers %s is %i %s", async (files, status, code) => {
    await put("b", "x");
    const url = await urlOf("b");
    await pool.steer({ files });
    expect(await codeOf(await call(url))).toEqual({ status, code });
    await pool.steer({ files: "ok" });
  });

  test("a download that breaks off half way is never whole", async () => {
    await put("c", "x".repeat(1000));
    const url = await urlOf("c");
    await pool.steer({ files: "cut" });
    await expect(call(url).then((response) => response.text())).rejects.toThrow("connection");
    await pool.steer({ files: "ok" });
  });

  test("its URL goes with the session", async () => {
    const other = await placed();
    await call(`/sessions/${other.id}/files/d`, { method: "PUT", bearer: other.key, body: "x" });
    const answer = await call(`/sessions/${other.id}/files/d`, { bearer: other.key });
    const { url = "" } = SessionFile.parse(await answer.json());
    await call(`/sessions/${other.id}`, { method: "DELETE", bearer: other.key });
    expect(await codeOf(await call(url.slice(BASE.length)))).toEqual({
      status: 409,
      code: "NotRunning",
    });
  });
});
