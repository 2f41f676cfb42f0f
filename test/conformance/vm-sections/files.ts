import { SignedFileUrl } from "@svc/contract/vm/files.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { FakeVmMode } from "../../support/fakes/vm-host.ts";
import { sendRaw } from "../sockets.ts";
import type { Machine, VmOrg, VmService } from "../vm-caller.ts";

const MOST_BYTES = 33_554_432;
const RAW = { "content-type": "application/octet-stream" };
const QUARTER_HOUR_MS = 900_000;
type Mode = "download" | "upload";

/** A signed URL of a file of a machine. */
async function mint(org: VmOrg, machine: Machine, mode: Mode, path?: string): Promise<string> {
  const query = path === undefined ? "" : `?path=${encodeURIComponent(path)}`;
  const { status, json } = await org.get(`${machine.sandbox}/files/${mode}-url${query}`);
  expect(status).toBe(200);
  return SignedFileUrl.parse(json).url;
}

/** Document 2: files by signed URL. */
export function files(service: VmService): void {
  minting(service);
  transfers(service);
  refusals(service);
  broken(service);
}

function minting(service: VmService): void {
  describe.each<Mode>(["download", "upload"])("GET /sandboxes/:id/files/%s-url", (mode) => {
    test("signs a URL for a quarter of an hour, whether the file is there or not", async () => {
      const org = await service.newOrg();
      await using machine = await org.make();
      const { json } = await org.get(`${machine.sandbox}/files/${mode}-url?path=/nowhere`);
      const lifeMs = Date.parse(SignedFileUrl.parse(json).expiresAt) - Date.now();
      expect(Math.abs(lifeMs - QUARTER_HOUR_MS)).toBeLessThan(60_000);
    });

    test("of a path that is none is 400", async () => {
      const org = await service.newOrg();
      await using machine = await org.make();
      const paths = ["", "relative", "/a/../b", "/a%00b", `/${"x".repeat(4096)}`];
      for (const path of paths) {
        const { status, json } = await org.get(`${machine.sandbox}/files/${mode}-url?path=${path}`);
        expect([status, json]).toMatchObject([400, { code: "ValidationError", field: "path" }]);
      }
    });

    test("of a machine that is deleted is 404", async () => {
      const org = await service.newOrg();
      const machine = await org.make();
      const url = await mint(org, machine, mode, "/tmp/a");
      await org.delete(machine.path);
      const answer = await service.stranger.send(mode === "upload" ? "PUT" : "GET", url);
      expect([answer.status, answer.json]).toMatchObject([404, { code: "NotFound" }]);
    });
  });

  test("a download needs a path: 400", async () => {
    const org = await service.newOrg();
    await using machine = await org.make();
    const { status, json } = await org.get(`${machine.sandbox}/files/download-url`);
    expect([status, json]).toMatchObject([400, { code: "ValidationError", field: "path" }]);
  });
}

function transfers(service: VmService): void {
  const { stranger } = service;
  describe("a file", () => {
    let org: VmOrg;
    let machine: Machine;
    beforeAll(async () => {
      org = await service.newOrg();
      machine = await org.make();
    });
    afterAll(() => machine[Symbol.asyncDispose]());

    test.each(["PUT", "POST"])("goes up by %s and comes down whole, without a key", async (by) => {
      const path = `/tmp/made here/${by} ü.txt`;
      for (const body of ["héllo\n", "short", ""]) {
        const up = await stranger.send(by, await mint(org, machine, "upload", path), body, RAW);
        const bytes = Buffer.byteLength(body);
        expect([up.status, up.json]).toEqual([200, { ok: true, path, bytes }]);
        const down = await stranger.get(await mint(org, machine, "download", path));
        expect([down.status, down.text]).toEqual([200, body]);
        expect(down.headers.get("content-type")).toBe("application/octet-stream");
        expect(down.headers.get("content-length")).toBe(String(bytes));
        expect(down.headers.get("content-disposition")).toContain("filename");
      }
    });

    test.each(["PUT", "POST"])("goes up by %s where a token for any path says", async (by) => {
      const url = await mint(org, machine, "upload");
      const up = await stranger.send(by, `${url}&path=%2Ftmp%2Fchosen`, "a", RAW);
      expect([up.status, up.json]).toMatchObject([200, { path: "/tmp/chosen" }]);
      for (const query of ["", "&path=relative"]) {
        const { status, json } = await stranger.send(by, `${url}${query}`, "a", RAW);
        expect([status, json]).toMatchObject([400, { code: "ValidationError", field: "path" }]);
      }
      const bound = await mint(org, machine, "upload", "/tmp/bound");
      const there = await stranger.send(by, `${bound}&path=%2Ftmp%2Fother`, "a", RAW);
      expect(there.json).toMatchObject({ path: "/tmp/bound" });
    });

    test("that is not there is 404", async () => {
      const url = await mint(org, machine, "download", "/tmp/nowhere");
      const { status, json } = await stranger.get(url);
      expect([status, json]).toMatchObject([404, { code: "NotFound" }]);
    });

    test.each(["PUT", "POST"])("above 32 MiB by %s is 413, by the header alone", async (by) => {
      const { pathname, search } = new URL(await mint(org, machine, "upload", "/tmp/big"));
      const lines = [`Content-Length: ${MOST_BYTES + 1}`];
      const { status, body } = await sendRaw(service.base, `${by} ${pathname}${search}`, lines);
      expect(status).toBe(413);
      expect(JSON.parse(body)).toMatchObject({ code: "PayloadTooLarge", limit: MOST_BYTES });
    });

    test("is refused with a token that is none, altered, or of the other mode: 403", async () => {
      const down = await mint(org, machine, "download", "/tmp/a");
      const up = await mint(org, machine, "upload", "/tmp/a");
      const tokenOf = (url: string): string => new URL(url).searchParams.get("token") ?? "";
      const altered = (token: string) => `${token.slice(0, -6)}AAAAAA`;
      const wrong = { download: tokenOf(up), upload: tokenOf(down) };
      for (const [by, mode] of [
        ["GET", "download"],
        ["PUT", "upload"],
        ["POST", "upload"],
      ] as const)
        for (const token of [wrong[mode], altered(wrong[mode]), "nonsense", ""]) {
          const path = `/files/${mode}?token=${token}&path=/tmp/a`;
          const { status, json } = await stranger.send(by, path, by === "GET" ? undefined : "a");
          expect([status, json]).toMatchObject([403, { code: "InvalidFileToken" }]);
        }
    });
  });
}

function refusals(service: VmService): void {
  test.runIf(service.can.has("snapshots"))("files of one that is paused are 409", async () => {
    const org = await service.newOrg();
    await using machine = await org.make();
    const down = await mint(org, machine, "download", "/tmp/a");
    const up = await mint(org, machine, "upload", "/tmp/a");
    await machine.act("pause");
    const answers = [
      await service.stranger.get(down),
      await service.stranger.send("PUT", up, "a", RAW),
      await service.stranger.send("POST", up, "a", RAW),
    ];
    for (const { status, json } of answers)
      expect([status, json]).toMatchObject([409, { code: "NotRunning" }]);
  });

  test("an upload to one that is deleted is 404, by POST too", async () => {
    const org = await service.newOrg();
    const machine = await org.make();
    const url = await mint(org, machine, "upload", "/tmp/a");
    await org.delete(machine.path);
    const { status, json } = await service.stranger.post(url, "a", RAW);
    expect([status, json]).toMatchObject([404, { code: "NotFound" }]);
  });
}

function broken(service: VmService): void {
  describe.runIf(service.faults)("a file whose host", () => {
    test.each<[FakeVmMode["files"], number, string]>([
      ["fault", 502, "HostUnreachable"],
      ["away", 502, "HostUnreachable"],
      ["drop", 502, "HostUnreachable"],
      ["missing", 409, "NotRunning"],
    ])("answers %s is %i %s, both ways", async (mode, code, name) => {
      const org = await service.newOrg();
      await using machine = await org.make();
      const down = await mint(org, machine, "download", "/tmp/a");
      const up = await mint(org, machine, "upload", "/tmp/a");
      using _ = service.steer({ files: mode });
      const answers = [
        await service.stranger.get(down),
        await service.stranger.send("PUT", up, "a", RAW),
        await service.stranger.send("POST", up, "a", RAW),
      ];
      for (const { status, json } of answers)
        expect([status, json]).toMatchObject([code, { code: name }]);
    });

    test("says that what is there is no plain file is 400 for a download, too", async () => {
      const org = await service.newOrg();
      await using machine = await org.make();
      const down = await mint(org, machine, "download", "/tmp/a");
      using _ = service.steer({ files: "directory" });
      const { status, json } = await service.stranger.get(down);
      const body = { code: "GuestRefused", detail: expect.stringContaining("it is a directory") };
      expect([status, json]).toMatchObject([400, body]);
    });

    test.each<FakeVmMode["files"]>(["directory", "full"])(
      "says that the guest refuses the write (%s) is 400 with its words",
      async (mode) => {
        const org = await service.newOrg();
        await using machine = await org.make();
        const up = await mint(org, machine, "upload", "/tmp/a");
        using _ = service.steer({ files: mode });
        for (const by of ["PUT", "POST"]) {
          const { status, json } = await service.stranger.send(by, up, "a", RAW);
          const body = { code: "GuestRefused", detail: expect.any(String) };
          expect([status, json]).toMatchObject([400, body]);
        }
      },
    );
  });
}
