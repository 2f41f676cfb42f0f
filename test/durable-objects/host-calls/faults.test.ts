import { env } from "cloudflare:workers";
import { runInDurableObject } from "cloudflare:test";
import { expect, onTestFinished, test, vi } from "vitest";
import { endSlot, setSlotDomains } from "../../../durable-objects/host-calls/slots.ts";
import { call, clearFleet, hastily, newOrg, newPool } from "../../support/worker/gateway.ts";
import { placed } from "../../support/worker/session.ts";

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
  expect(await setSlotDomains(env, GONE, subject, { domains: [] })).toBe(false);
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
