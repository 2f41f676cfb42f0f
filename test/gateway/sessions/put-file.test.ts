import { OPERATIONS } from "@svc/contract/operations/index.ts";
import { describe, expect, test } from "vitest";
import { call, codeOf } from "../../support/worker/gateway.ts";
import { placed } from "../../support/worker/session.ts";

describe("PUT /sessions/:id/files/:name", async () => {
  const { pool, key, id } = await placed();
  const put = (name: string, body: BodyInit = "x") =>
    call(`/sessions/${id}/files/${encodeURIComponent(name)}`, { method: "PUT", bearer: key, body });

  test.each(["a.txt", `"q' 100% é😀.txt`, "שלום.txt", "a\\b", "%2F", "x".repeat(255)])(
    "takes a file of the name %j, and says the path for file inputs",
    async (name) => {
      const response = await put(name, "é");
      expect(response.status).toBe(200);
      expect(await response.json()).toEqual({ ok: true, name, path: `/files/${name}`, bytes: 2 });
    },
  );

  test.each(["a/b", "../a", "a\0", "a\nb", "x".repeat(256), "é".repeat(128), "a\u202Egpj.exe"])(
    "the name %j is 400, and no pool is asked",
    async (name) => {
      const before = (await pool.calls()).length;
      const response = await put(name);
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ code: "ValidationError", field: "name" });
      expect(await pool.calls()).toHaveLength(before);
    },
  );

  test.each([
    ["overQuota", 409, "SessionFilesFull"],
    ["tooLarge", 413, "PayloadTooLarge"],
    ["ended", 409, "NotRunning"],
    ["busy", 503, "PoolUnreachable"],
    ["fault", 503, "PoolUnreachable"],
    ["drop", 503, "PoolUnreachable"],
  ])("a pool that answers %s is %i %s", async (files, status, code) => {
    await pool.steer({ files });
    expect(await codeOf(await put("a"))).toEqual({ status, code });
    await pool.steer({ files: "ok" });
  });

  test("its cap is that of a file, in the documents too", () => {
    expect(OPERATIONS.putSessionFile.bodyBytes).toBe(100 * 1024 * 1024);
    expect(OPERATIONS.putSessionFile.isRaw).toBe(true);
  });
});
