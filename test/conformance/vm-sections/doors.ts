import { OPERATIONS } from "@svc/contract/operations/index.ts";
import type { Operation } from "@svc/contract/operations/operation.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Caller, forged } from "../caller.ts";
import { sendRaw } from "../sockets.ts";
import type { Machine, VmOrg, VmService } from "../vm-caller.ts";

const OF_DOCUMENT = /^\/(sandboxes|desktops|volumes|snapshots|templates)\b/;
const operations: Operation[] = Object.values(OPERATIONS).filter(({ path }) =>
  OF_DOCUMENT.test(path),
);
const ofMachines = operations.filter(({ path }) => /^\/(sandboxes|desktops)\/:id/.test(path));
const unknown = `svc_live_${"a".repeat(12)}_${"b".repeat(40)}`;
const mebibyte = 1_048_576;

/** A body that its operation takes, so that nothing but the id is wrong. */
const BODIES: Record<string, object> = {
  "/sandboxes/:id/exec": { cmd: "true" },
  "/sandboxes/:id/revert": { snapshotId: "snap_1" },
};
const pathOf = ({ path }: Operation, id: string): string => {
  const query = path.endsWith("-url") ? "?path=/tmp/a" : "";
  return path.replace(":id", encodeURIComponent(id)).replace(":port", "3000") + query;
};

/** Document 2: authentication and limits, for every operation that takes a key. */
export function doors(service: VmService): void {
  describe.each(operations)("$method $path", (operation) => {
    const path = pathOf(operation, "x");

    test.each([
      ["no Authorization", {}],
      ["an unknown key", { authorization: `Bearer ${unknown}` }],
      ["the operator's token", { authorization: `Bearer ${service.adminToken}` }],
    ])("is 401 with the minimal body for %s", async (_name, headers) => {
      const { status, json } = await new Caller(service.base, null).send(
        operation.method,
        path,
        undefined,
        headers,
      );
      expect([status, json]).toEqual([401, { error: "Unauthorized" }]);
    });

    test("with a body above its cap is 413 with the limit, by the header alone", async () => {
      const org = await service.newOrg();
      const lines = [`Authorization: Bearer ${org.key}`, `Content-Length: ${mebibyte + 1}`];
      const { status, body } = await sendRaw(service.base, `${operation.method} ${path}`, lines);
      expect(status).toBe(413);
      expect(JSON.parse(body)).toMatchObject({ code: "PayloadTooLarge", limit: mebibyte });
    });
  });

  describe("of an id that is malformed, cut, forged or another org's", () => {
    let org: VmOrg;
    const machines: Record<string, Machine> = {};
    beforeAll(async () => {
      org = await service.newOrg();
      const owner = await service.newOrg();
      for (const surface of service.surfaces) machines[surface] = await owner.make(surface);
    });
    afterAll(() =>
      Promise.all(Object.values(machines).map((machine) => machine[Symbol.asyncDispose]())),
    );

    test.each(ofMachines)("$method $path is 404 with the same bytes", async (operation) => {
      const { method, path } = operation;
      const surface = path.startsWith("/desktops") ? "/desktops" : "/sandboxes";
      const { id } = machines[surface] ?? (await org.make());
      const ids = [id, "nope", id.slice(0, -1), forged(id), `${id}.x`, "%00", "..%2f"];
      const answers = [];
      for (const wrong of ids)
        answers.push(await org.send(method, pathOf(operation, wrong), BODIES[path]));
      expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
      expect(answers[0]).toMatchObject({ status: 404, json: { code: "NotFound" } });
      expect(answers[0]?.json).not.toHaveProperty("retryable");
    });

    test("and nothing has happened to the other org's machine", async () => {
      for (const machine of Object.values(machines))
        expect(await machine.record()).toMatchObject({ state: "running" });
    });
  });

  test("a sandbox is no desktop: 404 on that surface, and it lives on", async () => {
    const org = await service.newOrg();
    await using machine = await org.make();
    const path = `/desktops/${encodeURIComponent(machine.id)}`;
    const answers = [
      await org.get(path),
      await org.delete(path),
      await org.post(`${path}/pause`),
      await org.post(`${path}/resume`),
    ];
    for (const { status, json } of answers)
      expect([status, json]).toMatchObject([404, { code: "NotFound" }]);
    expect(await machine.record()).toMatchObject({ state: "running" });
  });
}
