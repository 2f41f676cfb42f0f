import { PlaceSlot } from "@svc/contract/host-protocol/slots.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { beforeEach, describe, expect, test } from "vitest";
import {
  call,
  clearFleet,
  hastily,
  json,
  newOrg,
  newPool,
  type Pool,
} from "../../support/worker/gateway.ts";

const kindOf = (idle: number, facts: object = {}) => ({ idle, busy: 0, recycling: 0, ...facts });
const MISMATCH = '{"error":"not served","code":"WireVersionMismatch","supported":["1.65"]}';

beforeEach(clearFleet);

/** A pool with idle slots that serves these wire versions, by its own record. */
function poolOf(wire: string[], idle = 5): Promise<Pool> {
  return newPool({ versions: { chromium: "156", wire }, kinds: { fast: kindOf(idle) } });
}

/** The pool refuses the wire version in its own words. */
const mismatch = (pool: Pool, body = MISMATCH) =>
  pool.steer({ put: "answer", status: "428", body });

async function create(version: string, ask = call): Promise<Response> {
  const { key } = await newOrg();
  const headers = { "x-svc-wire-version": version };
  return ask("/sessions", { method: "POST", headers, bearer: key });
}

/** A create that gives up once it has asked a second time, on a computer however busy. */
const twice: typeof call = (path, sent) => hastily(path, sent, 5000);

const puts = async (pool: Pool) =>
  (await pool.calls()).filter(({ method }) => method === "PUT").length;

describe("a create that names a wire version", () => {
  test("goes to the pool that serves it, though another one is emptier", async () => {
    const other = await poolOf(["1.65"], 99);
    const serving = await poolOf(["1.64"], 1);
    expect((await create("1.64")).status).toBe(201);
    expect([await puts(other), await puts(serving)]).toEqual([0, 1]);
  });

  test("finds the pool that serves it, though the first one asked refuses it", async () => {
    const changed = await poolOf(["1.64"], 99);
    await mismatch(changed);
    const serving = await poolOf(["1.64"], 1);
    expect((await create("1.64")).status).toBe(201);
    expect([await puts(changed), await puts(serving)]).toEqual([1, 1]);
  });

  test("finds a pool that serves it, though the fleet does not know yet", async () => {
    const pool = await poolOf(["1.65"]);
    expect((await create("1.64")).status).toBe(201);
    expect(await puts(pool)).toBe(1);
  });

  test("waits for the pool that serves it, though all slots there are in use and another pool refuses it", async () => {
    const other = await poolOf(["1.65"]);
    await mismatch(other);
    const serving = await poolOf(["1.64"], 0);
    await serving.steer({ put: "full" });
    const response = await create("1.64", twice);
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ code: "AcquireTimeout" });
    expect(await puts(serving)).toBeGreaterThan(1);
  });

  test("is 428 in a pool's own words when every pool refuses it", async () => {
    for (const pool of [await poolOf(["1.65"]), await poolOf(["1.64"], 0)]) await mismatch(pool);
    const response = await create("1.64");
    expect(response.status).toBe(428);
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(await response.text()).toBe(MISMATCH);
  });

  test("is 428 when one pool refuses it, and the other is out of reach and known not to serve it", async () => {
    await mismatch(await poolOf(["1.65"]));
    const versions = { chromium: "156", wire: ["1.65"] };
    await newPool({ url: "http://127.0.0.1:1", versions, kinds: { fast: kindOf(1) } });
    expect((await create("1.64")).status).toBe(428);
  });
});

describe("a kind that no registered pool serves", () => {
  const stealth = async (ask: typeof call): Promise<Response> => {
    const { key } = await newOrg();
    return ask("/sessions", { ...json({ stealth: true }), bearer: key });
  };

  test("is refused at once with the pool's hint", async () => {
    const none = kindOf(0, { hint: "Install Xvfb." });
    const pool = await newPool({ kinds: { fast: kindOf(5), stealth: none } });
    const begun = performance.now();
    const response = await stealth(call);
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({
      code: "AcquireTimeout",
      error: "No registered browser pool serves stealth browsers.",
      retryable: true,
      hint: "Install Xvfb.",
    });
    expect(performance.now() - begun).toBeLessThan(LIMITS.acquireTimeoutMs / 3);
    expect(await puts(pool)).toBe(0);
  });

  test("is waited for while no pool is registered at all, as one that restarts", async () => {
    const creating = stealth(call);
    await newPool({ kinds: { stealth: kindOf(1) } });
    expect((await creating).status).toBe(201);
  });

  test("is waited for while the pool that serves it drains", async () => {
    const draining = await newPool({ draining: true, kinds: { stealth: kindOf(1) } });
    const creating = stealth(call);
    await newPool({ kinds: { stealth: kindOf(1) } });
    expect((await creating).status).toBe(201);
    expect(await puts(draining)).toBe(0);
  });
});

describe("a create with allowedDomains, in a mixed fleet", () => {
  const kinds = { stealth: kindOf(99) };
  const UNKNOWN = '{"error":"no","code":"UnknownWish","hint":"Not here."}';

  async function confined(ask = call): Promise<Response> {
    const { key } = await newOrg("professional");
    return ask("/sessions", {
      ...json({ stealth: true, allowedDomains: ["a.example"] }),
      bearer: key,
    });
  }
  /** A pool older than the wishes: it says nothing of them. */
  async function olderPool(): Promise<Pool> {
    const pool = await newPool({ kinds });
    const { keeps: _keeps, ...beat } = { ...(await pool.heartbeat()), kinds };
    expect((await pool.post(beat)).status).toBe(200);
    return pool;
  }

  test("goes to the pool that keeps the wish, though others are emptier", async () => {
    const others = [await newPool({ kinds, keeps: [] }), await olderPool()];
    const keeping = await newPool({ kinds: { stealth: kindOf(1) } });
    expect((await confined()).status).toBe(201);
    expect(await Promise.all([...others, keeping].map(puts))).toEqual([0, 0, 1]);
  });

  test("is refused at once when no pool keeps the wish, and no pool is asked", async () => {
    const pools = [await newPool({ kinds, keeps: [] }), await olderPool()];
    const response = await confined();
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({
      code: "AcquireTimeout",
      error: "No registered browser pool confines sessions to allowedDomains.",
      hint: expect.stringContaining("without allowedDomains"),
    });
    expect(await Promise.all(pools.map(puts))).toEqual([0, 0]);
  });

  test("does not go to a pool that keeps the wish and serves the other kind alone", async () => {
    const pools = [
      await newPool({ kinds: { fast: kindOf(9) } }),
      await newPool({ kinds, keeps: [] }),
    ];
    expect((await confined()).status).toBe(503);
    expect(await Promise.all(pools.map(puts))).toEqual([0, 0]);
  });

  test("finds the pool that keeps the wish, though another one that said so refuses it as unknown", async () => {
    const changed = await newPool({ kinds });
    await changed.steer({ put: "answer", status: "501", body: UNKNOWN });
    const keeping = await newPool({ kinds: { stealth: kindOf(1) } });
    expect((await confined()).status).toBe(201);
    expect([await puts(changed), await puts(keeping)]).toEqual([1, 1]);
  });

  test("is 503 with the pool's hint when every pool that said so refuses it as unknown", async () => {
    const changed = await newPool({ kinds });
    await changed.steer({ put: "answer", status: "501", body: UNKNOWN });
    const response = await confined(hastily);
    expect(response.status).toBe(503);
    expect(await response.json()).toMatchObject({ code: "AcquireTimeout", hint: "Not here." });
  });
});

describe("a create that has to wait", () => {
  test("says since when, and waits in line as soon as no pool has a slot for it", async () => {
    const pool = await poolOf(["1.65"], 5);
    await pool.steer({ put: "full" });
    const before = Date.now();
    expect((await create("1.65", twice)).status).toBe(503);
    const asks = (await pool.calls()).filter(({ method }) => method === "PUT");
    const [first, second] = asks.map(({ body }) => PlaceSlot.parse(body));
    expect(first?.acquireMs).toBe(0);
    expect(second?.acquireMs).toBeGreaterThan(0);
    expect(second?.waitingSince).toBeGreaterThanOrEqual(before);
    expect(first?.waitingSince).toBe(second?.waitingSince);
  });

  test("looks at the other pools every second, and does not hurry a pool that refuses at once", async () => {
    const pools = [await poolOf(["1.65"], 0), await poolOf(["1.65"], 0)];
    for (const pool of pools) await pool.steer({ put: "full" });
    expect((await create("1.65", hastily)).status).toBe(503);
    const calls = (await Promise.all(pools.map((pool) => pool.calls()))).flat();
    const waits = calls.flatMap(({ method, body }) =>
      method === "PUT" ? [PlaceSlot.parse(body).acquireMs] : [],
    );
    expect(Math.max(...waits)).toBeLessThanOrEqual(1000);
    expect(waits.length).toBeLessThan(20);
  });
});
