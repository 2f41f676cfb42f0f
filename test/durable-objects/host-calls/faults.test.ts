import { env } from "cloudflare:workers";
import { runInDurableObject } from "cloudflare:test";
import { expect, onTestFinished, test, vi } from "vitest";
import { endSlot, setSlotDomains } from "../../../durable-objects/host-calls/slots.ts";
import { call, clearFleet, hastily, newOrg, newPool } from "../../support/worker/gateway.ts";
import { running } from "../../support/worker/asleep.ts";
import { placed } from "../../support/worker/session.ts";
import { newVmHost } from "../../support/worker/vm-host.ts";

const GONE = "http://127.0.0.1:1";
const HANDSHAKE = { upgrade: "websocket", "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==" };

/** The warnings and errors that are logged from now on. */
function faults(): () => string[] {
  const spies = [vi.spyOn(console, "warn"), vi.spyOn(console, "error")];
  for (const spy of spies) spy.mockImplementation(() => undefined);
  onTestFinished(() => {
    for (const spy of spies) spy.mockRestore();
  });
  return () => spies.flatMap(({ mock }) => mock.calls.map(([line]) => String(line)));
}

const callFailed = (what: string) =>
  expect.stringMatching(new RegExp(`"host_call_failed".*"call":"${what}".*"reason":".+"`));

test.each(["drop", "refuse"])(
  "an upgrade that a pool answers by %s is logged, without the id",
  async (upgrade) => {
    const { pool, id } = await placed();
    await pool.steer({ upgrade });
    const logged = faults();
    expect((await call(`/ws/${id}`, { headers: HANDSHAKE })).status).toBe(502);
    expect(logged()).toContainEqual(callFailed("an upgrade"));
    expect(logged().join("\n")).not.toContain(id);
  },
);

test("a pool that cannot be reached by a create is logged", async () => {
  await clearFleet();
  const pool = await newPool({ url: GONE });
  const logged = faults();
  const { key } = await newOrg();
  await hastily("/sessions", { method: "POST", bearer: key });
  expect(logged()).toContainEqual(callFailed("PUT /slots/:id"));
  await pool.beat();
});

test("a slot that a host does not give back, and an allowlist that it does not set, are logged", async () => {
  const logged = faults();
  const subject = { org: "org", id: "id" };
  await expect(endSlot(env, GONE, subject)).rejects.toThrow("onnection");
  expect(await setSlotDomains(env, GONE, subject, { domains: [] })).toBe("unreachable");
  expect(logged()).toContainEqual(callFailed("POST /slots/:id/allowed-domains"));
});

test("an org that does not answer a claim is logged", async () => {
  const { key, orgId } = await newOrg();
  await runInDurableObject(env.ORGS.getByName(orgId), (_object, { storage }) => {
    storage.sql.exec("DROP TABLE claims");
  });
  const logged = faults();
  expect((await call("/sessions", { method: "POST", bearer: key })).status).toBe(503);
  expect(logged()).toContainEqual(expect.stringMatching(/"claim_unanswered".*no such table/));
});

test.each([
  ["full", 503, "NoCapacity", "Every place on this host is taken."],
  ["image", 503, "NoCapacity", "The image is at 40 %."],
  ["busy", 503, "VolumeBusy", "Its last state lies with another host."],
  ["fault", 500, undefined, "a bug"],
])(
  "a machine that a host refuses by %s is logged with its reason",
  async (put, status, code, reason) => {
    const host = await newVmHost();
    await host.steer({ put });
    const { key } = await newOrg();
    const logged = faults();
    await hastily("/sandboxes", { method: "POST", bearer: key });
    const lines = logged().map((line): unknown => JSON.parse(line));
    const said = { event: "host_refused", call: "PUT /vms/:id", status, reason };
    expect(lines).toContainEqual(expect.objectContaining({ ...said, ...(code && { code }) }));
  },
);

test("a pause that a host refuses is logged with its reason", async () => {
  const { host, path, key } = await running();
  await host.steer({ pause: "fault" });
  const logged = faults();
  await call(`${path}/pause`, { method: "POST", bearer: key });
  const lines = logged().map((line): unknown => JSON.parse(line));
  expect(lines).toContainEqual(
    expect.objectContaining({
      event: "host_refused",
      call: "POST /vms/:id/pause",
      code: "SnapshotFailed",
      reason: expect.stringMatching(/./),
    }),
  );
});
