import { describe, expect, test, vi } from "vitest";
import { age, storedSandbox } from "../../support/worker/age.ts";
import { running, segments } from "../../support/worker/asleep.ts";
import { call, json } from "../../support/worker/gateway.ts";
import { vmOf } from "../../support/worker/vm-host.ts";

const PATIENCE = 30_000;
// Longer than any test takes: what is to pass is made to.
const parks = { parkAfterMs: 200_000, hibernateAfterParkedMs: 300_000, parkMaxMs: 5000 };
const PARKS_MS = 201_000;
const SLEEPS_MS = 301_000;
const WINDOW_MS = 600_000;

/** Each kind of rest: what asks for it, how the host is asked, and what the host holds once it has done it. */
const RESTS = [
  { name: "a park", body: { lifecycle: parks }, byMs: PARKS_MS, act: "park", unusedMs: 200_000 },
  {
    name: "an idle pause",
    body: { timeoutMs: WINDOW_MS },
    byMs: WINDOW_MS + 1000,
    act: "pause",
    unusedMs: WINDOW_MS,
  },
  {
    name: "the end of the window with onTimeout kill",
    body: { timeoutMs: WINDOW_MS, lifecycle: { onTimeout: "kill" } },
    byMs: WINDOW_MS + 1000,
    act: "end",
    unusedMs: WINDOW_MS,
  },
];

const stateOf = async (id: string) => {
  const { state } = await storedSandbox(id);
  if (state.status !== "running") throw new Error(`it is ${state.status}`);
  return state;
};

describe.each(RESTS)("$name", ({ body, byMs, act, unusedMs }) => {
  test("is refused by a host that knows of a use: the machine runs on, billed in one piece, and is asked about later", async () => {
    const { host, id, orgId } = await running(body);
    await host.steer({ use: "now" });
    await age(id, byMs);
    await vi.waitFor(async () => {
      expect((await host.calls("POST", act)).map((one) => one.body)).toEqual([{ unusedMs }]);
      const { expiresAt, idleMs, parkedAt, isExpired } = await stateOf(id);
      expect({ parkedAt, isExpired }).toEqual({ parkedAt: null, isExpired: false });
      // The window begins with the use of which the host has told.
      expect(expiresAt).toBeGreaterThan(Date.now() + idleMs - PATIENCE);
    }, PATIENCE);
    expect(await host.states()).toEqual({ [id]: "running" });
    expect((await host.steer()).parked).toEqual([]);
    const isOpen = ({ ended_at: at }: { ended_at: number | null }) => at === null;
    expect((await segments(orgId)).every(isOpen)).toBe(true);
    expect((await stateOf(id)).bill.spans).toMatchObject([{ n: 1, endedAt: null }]);
    // Nobody uses it any more.
    await host.steer({});
    await age(id, byMs);
    await vi.waitFor(async () => {
      const { parked, vms } = await host.steer();
      expect(act === "park" ? parked : vms).toEqual(act === "park" ? [id] : []);
    }, PATIENCE);
  });
});

test("hibernation is refused by a host that knows of a use: the machine is parked and hibernated later", async () => {
  const { host, id } = await running({ lifecycle: parks });
  await age(id, PARKS_MS);
  await vi.waitFor(async () => expect((await host.steer()).parked).toEqual([id]), PATIENCE);
  await host.steer({ use: "now" });
  await age(id, SLEEPS_MS);
  await vi.waitFor(async () => {
    expect((await host.calls("POST", "pause")).map(({ body }) => body)).toEqual([
      { unusedMs: 500_000 },
    ]);
    expect(await stateOf(id)).toMatchObject({ parkedAt: null, isToSleep: false });
  }, PATIENCE);
  expect(await host.states()).toEqual({ [id]: "running" });
  await host.steer({});
  await age(id, PARKS_MS);
  await age(id, SLEEPS_MS);
  await vi.waitFor(async () => expect(await host.states()).toEqual({ [id]: "paused" }), PATIENCE);
});

describe("a pause and an end that the customer asks for", () => {
  test("are orders: a machine in use is paused, and ends", async () => {
    const { host, id, key, path, post } = await running({});
    await host.steer({ use: "now" });
    expect((await post("pause")).status).toBe(200);
    expect((await host.calls("POST", "pause")).map(({ body }) => body)).toEqual([null]);
    expect(await host.states()).toEqual({ [id]: "paused" });
    expect((await call(path, { method: "DELETE", bearer: key })).status).toBe(200);
    expect(await host.held()).toEqual([]);
  });
});

describe("a GET of the record", () => {
  test("of a parked machine rolls the window and wakes nothing: object and host agree that it is parked", async () => {
    const { host, id, path, key } = await running({ lifecycle: parks });
    await age(id, PARKS_MS);
    await vi.waitFor(async () => expect((await host.steer()).parked).toEqual([id]), PATIENCE);
    const before = await stateOf(id);
    expect((await call(path, { bearer: key })).status).toBe(200);
    const after = await stateOf(id);
    expect(after.expiresAt).toBeGreaterThan(before.expiresAt);
    expect(after.parkedAt).toBe(before.parkedAt);
    expect((await host.steer()).parked).toEqual([id]);
    // Asked to park it a second time, as if it had been woken, the host would say so.
    expect(await host.calls("POST", "park")).toHaveLength(1);
    // And hibernation counts from there, so that one who looks keeps it alive.
    await age(id, SLEEPS_MS);
    expect(await host.calls("POST", "pause")).toEqual([]);
  });

  test("does not hide that the host has woken the machine since", async () => {
    const { host, id, path, key } = await running({ lifecycle: parks });
    await age(id, PARKS_MS);
    await vi.waitFor(async () => expect((await host.steer()).parked).toEqual([id]), PATIENCE);
    // By a message on a socket that was open; then comes the GET, then the host's word of an older use.
    await call(path, { bearer: key });
    const sentAt = Date.now();
    await host.beat({ sentAt, vms: [vmOf(id, { lastActivityAt: sentAt - 5000 })] });
    expect(await stateOf(id)).toMatchObject({ parkedAt: null });
    await age(id, PARKS_MS);
    await vi.waitFor(
      async () => expect(await host.calls("POST", "park")).toHaveLength(2),
      PATIENCE,
    );
  });

  test("while the host says that it is parked, changes nothing of that", async () => {
    const { host, id, path, key } = await running({ lifecycle: parks });
    await age(id, PARKS_MS);
    await vi.waitFor(async () => expect((await host.steer()).parked).toEqual([id]), PATIENCE);
    await call(path, { bearer: key });
    const { parkedAt } = await stateOf(id);
    await host.beat({ vms: [vmOf(id, { parked: true })] });
    expect((await stateOf(id)).parkedAt).toBe(parkedAt);
  });
});

test("a new idle window wakes nothing", async () => {
  const { host, id, path, key } = await running({ lifecycle: parks });
  await age(id, PARKS_MS);
  await vi.waitFor(async () => expect((await host.steer()).parked).toEqual([id]), PATIENCE);
  const { parkedAt } = await stateOf(id);
  const set = await call(`${path}/timeout`, { ...json({ timeoutMs: 500_000 }), bearer: key });
  expect(set.status).toBe(200);
  expect((await stateOf(id)).parkedAt).toBe(parkedAt);
});
