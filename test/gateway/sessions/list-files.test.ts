import { SessionFiles } from "@svc/contract/browser/session-file.ts";
import { describe, expect, test } from "vitest";
import { call, codeOf } from "../../support/worker/gateway.ts";
import { placed } from "../../support/worker/session.ts";

describe("GET /sessions/:id/files", async () => {
  const { pool, key, id } = await placed();
  const list = () => call(`/sessions/${id}/files`, { bearer: key });
  const put = (name: string, body: string) =>
    call(`/sessions/${id}/files/${encodeURIComponent(name)}`, { method: "PUT", bearer: key, body });

  test("is empty at first, and then has each file with a URL that tells no session id", async () => {
    expect(await (await list()).json()).toEqual({ files: [] });
    await put("a.txt", "abc");
    const { files } = SessionFiles.parse(await (await list()).json());
    const [{ url = "" } = {}] = files;
    expect(files).toMatchObject([{ name: "a.txt", bytes: 3, path: "/files/a.txt" }]);
    expect(url).not.toContain(id);
    expect(
      atob(url.split("token=")[1]?.split(".")[0]?.replaceAll(/[-_]/g, "A") ?? ""),
    ).not.toContain(id);
  });

  test.each([
    ["fault", 503, "PoolUnreachable"],
    ["drop", 503, "PoolUnreachable"],
  ])("a pool that answers %s is %i", async (files, status, code) => {
    await pool.steer({ files });
    expect(await codeOf(await list())).toEqual({ status, code });
    await pool.steer({ files: "ok" });
  });

  test("a session that has ended is 409: its files went with it", async () => {
    const ended = await placed();
    await call(`/sessions/${ended.id}`, { method: "DELETE", bearer: ended.key });
    const response = await call(`/sessions/${ended.id}/files`, { bearer: ended.key });
    expect(await codeOf(response)).toEqual({ status: 409, code: "NotRunning" });
  });
});
