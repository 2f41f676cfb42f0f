import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { GIB_BYTES } from "@svc/contract/plans.ts";
import { expect, test } from "vitest";
import { OrgSandboxes } from "../../../durable-objects/org/sandboxes.ts";
import { type KeptCaps, UNCAPPED } from "../../../durable-objects/org/messages.ts";
import { sandboxView } from "../../support/worker/vm-host.ts";

let orgs = 0;
const newOrg = () => env.ORGS.getByName(`kept-${(orgs += 1)}`);
type Org = ReturnType<typeof newOrg>;

const reserve = (org: Org, id: string, kept: Partial<KeptCaps> = {}, lapsesAt = 2 ** 42) =>
  org.reserveSandbox({
    view: sandboxView(id),
    cap: 1000,
    kept: { ...UNCAPPED, ...kept },
    lapsesAt,
  });

/** A paused machine with a record of so many bytes. */
async function keep(org: Org, id: string, recordId: string, sizeBytes: number): Promise<void> {
  await reserve(org, id);
  await org.noteSandbox(sandboxView(id, { state: "paused", record: { id: recordId, sizeBytes } }));
}

test("the record that shares of one home have in common counts once", async () => {
  const org = newOrg();
  await keep(org, "a", "rec_home", 5);
  await keep(org, "b", "rec_home", 5);
  await keep(org, "c", "rec_other", 7);
  await reserve(org, "d");
  expect(await org.kept()).toEqual({ machines: 4, recordBytes: 12 });
});

test("a claim that lapsed, and a machine that is being released, are not kept", async () => {
  const org = newOrg();
  await reserve(org, "lapsed", {}, Date.now() - 1);
  await keep(org, "releasing", "rec_1", 5);
  await org.noteSandbox(sandboxView("releasing", { state: "releasing", goneAt: 1 }));
  expect(await org.kept()).toEqual({ machines: 0, recordBytes: 0 });
  expect(await reserve(org, "next", { pausedVms: 1 })).toEqual({ reserved: true });
});

test("what is kept elsewhere counts beside the records", async () => {
  const org = newOrg();
  await keep(org, "a", "rec_1", GIB_BYTES);
  const full = { reserved: false, full: { kind: "storage", cap: 2 } };
  const caps = (elsewhereBytes: number) => ({ storedGib: 2, elsewhereBytes });
  expect(await reserve(org, "b", caps(GIB_BYTES - 1))).toEqual({ reserved: true });
  expect(await reserve(org, "c", caps(GIB_BYTES))).toEqual(full);
  expect(await org.kept()).toEqual({ machines: 2, recordBytes: GIB_BYTES });
});

test.each([[["record_id", "record_bytes", "resolution"]], [["resolution"]]])(
  "an org's object of an earlier version, without %o, goes on with its machines",
  async (columns) => {
    const org = newOrg();
    await keep(org, "a", "rec_1", 5);
    await runInDurableObject(org, (_object, { storage: { sql } }) => {
      for (const column of columns) sql.exec(`ALTER TABLE sandboxes DROP COLUMN ${column}`);
      const upgraded = new OrgSandboxes(sql);
      const record = { id: "rec_1", sizeBytes: 5 };
      upgraded.note(sandboxView("a", { state: "paused", record, resolution: "800x600" }));
      expect(upgraded.kept()).toEqual({ machines: 1, recordBytes: 5 });
      const query = { limit: 1, cursor: null, state: null, kind: null, metadata: [] };
      expect(upgraded.page(query).sandboxes).toMatchObject([{ id: "a", resolution: "800x600" }]);
    });
  },
);
