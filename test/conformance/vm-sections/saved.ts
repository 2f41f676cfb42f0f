import { describe, expect, test, vi } from "vitest";
import type { VmOrg, VmService } from "../vm-caller.ts";

/** What document 2 says of templates and snapshots, on routes that it names and does not show. */
export function saved(service: VmService): void {
  describe.runIf(service.can.has("snapshots"))("what is saved", () => {
    templates(service);
    snapshots(service);
  });
}

/** Ends a build, so that no host is kept busy by it; a template that is over can be deleted. */
async function discard(org: VmOrg, id: string): Promise<void> {
  await org.post(`/templates/${id}/cancel`);
  const remove = async () => expect((await org.delete(`/templates/${id}`)).status).toBe(200);
  await vi.waitFor(remove, { timeout: 60_000, interval: 250 });
}

function templates(service: VmService): void {
  // A fake host builds as fast as it is asked: it is held back.
  const held = () => (service.faults ? service.steer({ build: "hang" }) : null);

  test("a template that is being built is 409, of another kind 400; it cannot be deleted yet", async () => {
    using _ = held();
    const org = await service.newOrg();
    const id = await org.template("sandbox");
    const building = await org.post("/sandboxes", { template: id });
    expect([building.status, building.json]).toMatchObject([409, { code: "TemplateNotReady" }]);
    const kind = { code: "TemplateKindMismatch", field: "template" };
    const desktop = await org.post("/desktops", { template: id });
    expect([desktop.status, desktop.json]).toMatchObject([400, kind]);
    const other = await org.post("/sandboxes", { template: id, kind: "desktop" });
    expect([other.status, other.json]).toMatchObject([400, kind]);
    const deleted = await org.delete(`/templates/${id}`);
    expect([deleted.status, deleted.json]).toMatchObject([409, { code: "TemplateBuilding" }]);
    await discard(org, id);
    expect((await org.delete(`/templates/${id}`)).status).toBe(404);
  });

  test.runIf(service.can.has("desktop"))("a desktop's template makes no sandbox: 400", async () => {
    using _ = held();
    const org = await service.newOrg();
    const id = await org.template("desktop");
    const building = await org.post("/desktops", { template: id });
    expect([building.status, building.json]).toMatchObject([409, { code: "TemplateNotReady" }]);
    const wrong = await org.post("/sandboxes", { template: id });
    expect([wrong.status, wrong.json]).toMatchObject([400, { code: "TemplateKindMismatch" }]);
    await discard(org, id);
  });

  test("another org's template is 404, for a create and for a DELETE", async () => {
    using _ = held();
    const [owner, org] = [await service.newOrg(), await service.newOrg()];
    const id = await owner.template("sandbox");
    const answers = [
      await org.post("/sandboxes", { template: id }),
      await org.delete(`/templates/${id}`),
    ];
    for (const { status, json } of answers)
      expect([status, json]).toMatchObject([404, { code: "NotFound" }]);
    await discard(owner, id);
  });

  test("a template of the client's own files is 400", async () => {
    const compiled = { from: { template: "base" }, steps: [], localFiles: [{ path: "a" }] };
    const { status, json } = await (
      await service.newOrg()
    ).post("/templates", { name: "mine", compiled });
    expect([status, json]).toMatchObject([400, { code: "LocalFilesUnsupported" }]);
  });
}

function snapshots(service: VmService): void {
  test("a snapshot is forked, and deleted once no live machine descends from it", async () => {
    const org = await service.newOrg();
    await using machine = await org.make();
    const { snapshotId } = await org.snapshot(machine);
    const path = `/snapshots/${snapshotId}`;
    await using child = await org.make("/sandboxes", { fromSnapshot: snapshotId });
    const held = await org.delete(path);
    expect([held.status, held.json]).toMatchObject([
      409,
      { code: "SnapshotHasChildren", children: 1, holders: [child.id] },
    ]);
    await org.delete(child.path);
    const gone = await org.delete(path);
    expect([gone.status, gone.json]).toEqual([200, { ok: true }]);
    expect((await org.delete(path)).status).toBe(404);
    const late = await org.post("/sandboxes", { fromSnapshot: snapshotId });
    expect([late.status, late.json]).toMatchObject([404, { code: "NotFound" }]);
  });
}
