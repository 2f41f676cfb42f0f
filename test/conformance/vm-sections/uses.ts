import { SandboxList } from "@svc/contract/vm/sandbox.ts";
import { VmMetrics } from "@svc/contract/vm/metrics.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Machine, VmOrg, VmService } from "../vm-caller.ts";

const HOUR_MS = 3_600_000;

/** Document 2: exec, metrics, timeout, the list. */
export function uses(service: VmService): void {
  exec(service);
  windows(service);
  list(service);
}

function exec(service: VmService): void {
  describe.each(service.surfaces)("every route of a sandbox works on an id of %s:", (surface) => {
    let org: VmOrg;
    let machine: Machine;
    beforeAll(async () => {
      org = await service.newOrg();
      machine = await org.make(surface);
    });
    afterAll(() => machine[Symbol.asyncDispose]());

    test("exec runs one command to its end", async () => {
      const body = { cmd: "echo", args: ["hello"], cwd: "/tmp", timeoutMs: 60_000 };
      const { status, json } = await org.post(`${machine.sandbox}/exec`, body);
      const result = { exitCode: 0, stdout: expect.stringContaining("hello"), stderr: "" };
      expect([status, json]).toMatchObject([200, result]);
    });

    test.each([{}, { cmd: 5 }, { cmd: null }, { cmd: ["echo"] }])(
      "exec of %j is 400 and names cmd",
      async (body) => {
        const { status, json } = await org.post(`${machine.sandbox}/exec`, body);
        expect([status, json]).toMatchObject([400, { code: "ValidationError", field: "cmd" }]);
      },
    );

    test.each(["not json", "[1]"])("exec of the body %s is 400", async (body) => {
      const { status, json } = await org.post(`${machine.sandbox}/exec`, body);
      expect([status, json]).toMatchObject([400, { code: "InvalidJson" }]);
    });

    test("metrics are of the machine", async () => {
      const { status, json } = await org.get(`${machine.sandbox}/metrics`);
      expect(status).toBe(200);
      const { contextScoped, memBytes, memTotalBytes } = VmMetrics.parse(json);
      expect(contextScoped).toBe(false);
      expect(memTotalBytes).toBeGreaterThanOrEqual(memBytes);
    });

    test("the record is of its kind", async () => {
      const kind = surface === "/desktops" ? "desktop" : "sandbox";
      expect(await machine.record()).toMatchObject({ sandboxId: machine.id, kind });
    });
  });

  test("exec and metrics of one that is deleted are 404", async () => {
    const org = await service.newOrg();
    await using machine = await org.make();
    await org.delete(machine.path);
    const run = await machine.act("exec", { cmd: "true" });
    const metrics = await org.get(`${machine.sandbox}/metrics`);
    for (const { status, json } of [run, metrics])
      expect([status, json]).toMatchObject([404, { code: "NotFound" }]);
  });

  test.runIf(service.can.has("snapshots"))("exec of one that is paused is 409", async () => {
    await using machine = await (await service.newOrg()).make();
    await machine.act("pause");
    const { status, json } = await machine.act("exec", { cmd: "true" });
    expect([status, json]).toMatchObject([409, { code: "NotRunning" }]);
  });
}

/** The idle window: set, clamped, and moved by use. */
function windows(service: VmService): void {
  describe("POST /sandboxes/:id/timeout", () => {
    const windowOf = async (machine: Machine, body?: object): Promise<number> => {
      const before = Date.now();
      const { status, json } = await machine.act("timeout", body);
      expect(status).toBe(200);
      return Date.parse((json as { expiresAt: string }).expiresAt) - before;
    };

    test.each<[string, object | undefined, number]>([
      ["sets it", { timeoutMs: 600_000 }, 600_000],
      ["without a body is the default", undefined, 2 * HOUR_MS],
      ["with nonsense is the default", { timeoutMs: "soon" }, 2 * HOUR_MS],
      ["beyond the plan is clamped", { timeoutMs: 1e12 }, 24 * HOUR_MS],
    ])("%s", async (_name, body, windowMs) => {
      await using machine = await (await service.newOrg()).make();
      const gotMs = await windowOf(machine, body);
      expect(gotMs).toBeGreaterThanOrEqual(windowMs);
      expect(gotMs).toBeLessThan(windowMs + 60_000);
    });

    test("of one that is deleted is 404", async () => {
      const org = await service.newOrg();
      await using machine = await org.make();
      await org.delete(machine.path);
      const { status, json } = await machine.act("timeout", { timeoutMs: 5000 });
      expect([status, json]).toMatchObject([404, { code: "NotFound" }]);
    });
  });

  test("a read is use and moves the deadline, the list is none", async () => {
    const org = await service.newOrg();
    await using machine = await org.make();
    const before = Date.parse(machine.expiresAt);
    const listed = SandboxList.parse((await org.get("/sandboxes")).json);
    expect(Date.parse(listed.sandboxes[0]?.expiresAt ?? "")).toBeLessThanOrEqual(before);
    expect(Date.parse((await machine.record()).expiresAt)).toBeGreaterThan(before);
  });
}

function list(service: VmService): void {
  describe("GET /sandboxes of an org with three, one of them deleted", () => {
    let org: VmOrg;
    const machines: Machine[] = [];
    beforeAll(async () => {
      org = await service.newOrg();
      for (const label of ["a", "b", "c"])
        machines.push(await org.make("/sandboxes", { metadata: { label } }));
      await org.delete(machines[1]?.path ?? "");
    });
    afterAll(() => Promise.all(machines.map((machine) => machine[Symbol.asyncDispose]())));

    const newestFirst = () => machines.map(({ id }) => id).toReversed();
    async function page(query: string): Promise<{ ids: string[]; cursor: string }> {
      const { status, json } = await org.get(`/sandboxes${query}`);
      expect(status).toBe(200);
      const { sandboxes, nextCursor = "" } = SandboxList.parse(json);
      return { ids: sandboxes.map(({ sandboxId }) => sandboxId), cursor: nextCursor };
    }

    test("is the live ones, newest first", async () => {
      const [newest, , oldest] = newestFirst();
      expect(await page("")).toEqual({ ids: [newest, oldest], cursor: "" });
    });

    test("is filtered by state, kind and labels", async () => {
      const [newest, deleted, oldest] = newestFirst();
      expect((await page("?state=running")).ids).toEqual([newest, oldest]);
      expect((await page("?state=gone")).ids).toEqual([deleted]);
      expect((await page("?kind=desktop")).ids).toEqual([]);
      expect((await page("?metadata.label=a")).ids).toEqual([oldest]);
      expect((await page("?metadata.label=a&metadata.other=b")).ids).toEqual([]);
    });

    test("comes in pages without gap or repeat", async () => {
      const [newest, , oldest] = newestFirst();
      const first = await page("?limit=1");
      expect(first.ids).toEqual([newest]);
      const second = await page(`?limit=1&cursor=${encodeURIComponent(first.cursor)}`);
      expect(second).toEqual({ ids: [oldest], cursor: "" });
    });

    test.each(["state=odd", "kind=odd", "limit=x", "limit=0", "cursor=%00", "a=b"])(
      "is never refused: ?%s is ignored or clamped",
      async (query) => {
        expect((await page(`?${query}`)).ids[0]).toBe(newestFirst()[0]);
      },
    );

    test("shows nothing of it to another org", async () => {
      const other = await service.newOrg();
      expect((await other.get("/sandboxes")).json).toEqual({ sandboxes: [] });
    });
  });
}
