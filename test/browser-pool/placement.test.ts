import type { IncomingMessage } from "node:http";
import { WIRE_VERSIONS } from "@svc/contract/browser/wire-versions.ts";
import { OPENS_HEADER } from "@svc/contract/host-protocol/slots.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import WebSocket from "ws";
import { missingBrowser } from "../support/process/needs.ts";
import { bearer } from "../support/process/host-rig.ts";
import { Rig } from "./rig.ts";

const noBrowser = await missingBrowser();

describe.skipIf(noBrowser)("placement", () => {
  let rig: Rig;
  let count = 0;
  let id: string;

  beforeAll(async () => {
    // One warm browser of two at most, so that a test can use all there are.
    rig = await Rig.start({ env: { SVC_MAX_FAST: "2" } });
  });
  afterAll(() => rig.stop());
  beforeEach(() => {
    count += 1;
    // Ids of the gateway carry dots, and none of their characters may be lost on the way.
    id = `session.${count}/ä`;
  });

  test("a placed session names the boot and a seq that older heartbeats have not reached", async () => {
    await rig.warm();
    const before = rig.gateway.last?.seq ?? 0;
    const placed = await rig.place(id);
    expect(placed.bootId).toBe(rig.gateway.last?.bootId);
    expect(placed.seq).toBeGreaterThan(before);
    const beat = await rig.gateway.beat((one) => one.slots.some((slot) => slot.id === id));
    expect(beat.seq).toBeGreaterThan(placed.seq);
    await rig.delete(id);
  });

  test("a heartbeat contains a placement exactly when its seq is higher", async () => {
    const placed = await rig.place(id);
    await rig.gateway.beat((beat) => beat.seq > placed.seq);
    for (const beat of rig.gateway.beats)
      expect(beat.slots.some((slot) => slot.id === id)).toBe(beat.seq > placed.seq);
    await rig.delete(id);
  });

  test("the same id again answers what the first call got", async () => {
    const first = await rig.place(id);
    expect(await rig.place(id)).toEqual(first);
    await rig.delete(id);
  });

  test("repeats at the same time take one slot", async () => {
    const placed = await Promise.all(Array.from({ length: 5 }, () => rig.place(id)));
    for (const one of placed) expect(one).toEqual(placed[0]);
    const beat = await rig.gateway.beat((one) => one.seq > (placed[0]?.seq ?? 0));
    expect(beat.kinds.fast?.busy).toBe(1);
    await rig.delete(id);
  });

  test("with nothing idle and no time to wait the answer is 409", async () => {
    await Promise.all([rig.place(`${id}a`), rig.place(`${id}b`)]);
    const refused = await rig.put(id, { acquireMs: 0 });
    expect(refused.status).toBe(409);
    expect(await refused.json()).toMatchObject({ error: expect.any(String) });
    expect((await rig.put(id, { acquireMs: 50 })).status).toBe(409);
    await Promise.all([rig.delete(`${id}a`), rig.delete(`${id}b`)]);
  });

  test("a burst beyond the warm ones is served as slots become free", async () => {
    const ids = ["a", "b", "c", "d"].map((end) => `${id}${end}`);
    const served = ids.map((one) =>
      rig.put(one).then(async ({ status }) => {
        await rig.delete(one);
        return status;
      }),
    );
    expect(await Promise.all(served)).toEqual([201, 201, 201, 201]);
  });

  test("those who wait are served first come, first served, also when they ask again meanwhile", async () => {
    await Promise.all([rig.place(`${id}x`), rig.place(`${id}y`)]);
    const began = Date.now();
    // The later creates reach this pool first.
    const names = ["e", "d", "c", "b", "a"];
    const served: string[] = [];
    const refusals = new Map(names.map((name) => [name, 0]));
    /** As the gateway does: asks again until it is served. */
    const create = async (name: string): Promise<void> => {
      const waitingSince = began + name.charCodeAt(0);
      let status = 409;
      for (let asked = 0; status === 409; asked += 1) {
        ({ status } = await rig.put(`${id}${name}`, { acquireMs: 200, waitingSince }));
        if (status === 409) refusals.set(name, asked + 1);
      }
      expect(status).toBe(201);
      served.push(name);
      await rig.delete(`${id}${name}`);
    };
    const all = names.map(create);
    await vi.waitFor(() => expect(Math.min(...refusals.values())).toBeGreaterThan(1), 100_000);
    await rig.delete(`${id}x`);
    await Promise.all(all);
    expect(served).toEqual(names.toReversed());
    await rig.delete(`${id}y`);
  });

  test("a slot that came between two questions of a create waits for the second", async () => {
    await Promise.all([rig.place(`${id}x`), rig.place(`${id}y`)]);
    expect((await rig.put(id, { acquireMs: 1 })).status).toBe(409);
    const other = rig.put(`${id}late`);
    await Promise.all([rig.delete(`${id}x`), rig.delete(`${id}y`)]);
    expect((await rig.put(id)).status).toBe(201);
    expect((await other).status).toBe(201);
    await Promise.all([rig.delete(id), rig.delete(`${id}late`)]);
  });

  test("GET tells the counts of a session's sockets; 404 for one that is not there", async () => {
    const { bootId } = await rig.place(id);
    const see = () => rig.call("GET", `/slots/${encodeURIComponent(id)}`, id);
    const slot = { id, kind: "fast", opens: 0, closes: 0 };
    expect(await (await see()).json()).toMatchObject({ bootId, slot });
    const { url, headers } = await rig.socket("cdp", id);
    const socket = new WebSocket(url, { headers });
    const upgraded = await new Promise<IncomingMessage>((resolve) =>
      socket.once("upgrade", resolve),
    );
    expect(upgraded.headers[OPENS_HEADER]).toBe("1");
    expect(await (await see()).json()).toMatchObject({ slot: { opens: 1, closes: 0 } });
    socket.terminate();
    await rig.delete(id);
    expect((await see()).status).toBe(404);
  });

  test("a DELETE while the PUT waits ends it with 409, and it takes no slot", async () => {
    await Promise.all([rig.place(`${id}a`), rig.place(`${id}b`)]);
    const waiting = rig.put(id);
    const repeat = rig.put(id);
    // Answered after the two above were taken up.
    expect((await rig.put(`${id}c`, { acquireMs: 0 })).status).toBe(409);
    expect((await rig.delete(id)).status).toBe(204);
    expect((await waiting).status).toBe(409);
    expect((await repeat).status).toBe(409);
    await Promise.all([rig.delete(`${id}a`), rig.delete(`${id}b`)]);
    await rig.gateway.beat((beat) => beat.kinds.fast?.busy === 0);
  });

  test("a PUT that its DELETE has overtaken is 409", async () => {
    await rig.delete(id);
    expect((await rig.put(id)).status).toBe(409);
  });

  test("a PUT whose caller went away takes no slot", async () => {
    await Promise.all([rig.place(`${id}a`), rig.place(`${id}b`)]);
    const caller = new AbortController();
    const gone = rig.put(id, {}, { signal: caller.signal }).catch(() => null);
    await rig.put(`${id}c`, { acquireMs: 0 });
    caller.abort();
    await gone;
    await Promise.all([rig.delete(`${id}a`), rig.delete(`${id}b`)]);
    const beat = await rig.gateway.beat(({ kinds }) => (kinds.fast?.idle ?? 0) > 0);
    expect(beat.slots.map((slot) => slot.id)).not.toContain(id);
  });

  test("DELETE is 204 for a session that is not there", async () => {
    expect((await rig.delete(id)).status).toBe(204);
    expect((await rig.delete(id)).status).toBe(204);
  });

  test("a wire version that is not served is 428 with the versions that are, and the fix", async () => {
    const refused = await rig.put(id, { wireVersion: "1.50" });
    expect(refused.status).toBe(428);
    expect(refused.headers.get("content-type")).toContain("application/json");
    expect(await refused.json()).toEqual({
      error: expect.stringMatching(/1\.50.*1\.65.*connectOverCDP/s),
      code: "WireVersionMismatch",
      supported: [...WIRE_VERSIONS],
    });
  });

  test.each([
    ["that it does not keep for this kind", { allowedDomains: ["a.example"] }, "allowedDomains"],
    ["that it does not know", { colour: "red" }, "colour"],
    [
      "that it does not know of a profile",
      { profile: { statePath: "/objects/x", a: 1 } },
      "profile.a",
    ],
  ])("a wish %s is 501 UnknownWish, and takes no browser", async (_what, wish, name) => {
    await rig.warm();
    const ask = { kind: "fast", expiresAt: Date.now() + 60_000, acquireMs: 0, ...wish };
    const refused = await rig.call("PUT", `/slots/${encodeURIComponent(id)}`, id, ask);
    expect(refused.status).toBe(501);
    expect(await refused.json()).toEqual({
      error: `This browser pool does not keep the wish: ${name}.`,
      code: "UnknownWish",
      hint: expect.stringContaining(name),
    });
    expect((await rig.call("GET", `/slots/${encodeURIComponent(id)}`, id)).status).toBe(404);
  });

  test("the heartbeat names the wishes that are kept", async () => {
    expect((await rig.gateway.beat(() => true)).keeps).toEqual(["allowedDomains", "recording"]);
  });

  test("a session whose deadline has passed is not placed", async () => {
    expect((await rig.put(id, { expiresAt: Date.now() - 1 })).status).toBe(409);
  });

  test("malformed placements are 400", async () => {
    const call = (body: string) => rig.call("PUT", "/slots/x", "x", undefined, { body });
    expect((await call("{")).status).toBe(400);
    expect((await call('{"kind":"fast"}')).status).toBe(400);
    const huge = JSON.stringify({ kind: "fast", padding: "x".repeat(LIMITS.hostBodyBytes) });
    expect((await call(huge)).status).toBe(400);
  });

  test("every route needs the bearer of its own id", async () => {
    for (const [method, path] of [
      ["PUT", "/slots/x"],
      ["DELETE", "/slots/x"],
      ["POST", "/drain"],
      ["GET", "/slots/x"],
    ] as const) {
      expect((await rig.call(method, path, "another")).status).toBe(401);
      const old = { authorization: `Bearer ${await bearer("x", 1)}` };
      expect((await rig.call(method, path, "x", undefined, { headers: old })).status).toBe(401);
    }
  });

  test("unknown paths are 404 and unknown methods 405", async () => {
    expect((await rig.call("GET", "/", "x")).status).toBe(404);
    expect((await rig.call("PUT", "/slots/x/y", "x")).status).toBe(404);
    expect((await rig.call("PUT", "/slots/%ff", "x")).status).toBe(404);
    expect((await rig.call("POST", "/slots/x", "x")).status).toBe(405);
  });
});

describe.skipIf(noBrowser)("drain", () => {
  test("after it no session is placed, those there go on, and the registration says so", async () => {
    const rig = await Rig.start();
    await rig.place("held");
    expect((await rig.call("POST", "/drain", "drain")).status).toBe(202);
    const beat = await rig.gateway.beat(
      (one) => one.draining === true && one.kinds.fast?.idle === 0,
    );
    expect(beat.slots.map((slot) => slot.id)).toEqual(["held"]);
    const refused = await rig.put("new");
    expect(refused.status).toBe(503);
    expect(await refused.json()).toMatchObject({ hint: expect.stringContaining("drain") });
    await rig.stop();
  });
});
