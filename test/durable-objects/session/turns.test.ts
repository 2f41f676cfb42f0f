// The order in which tools use a session: one at a time, in the order they came, and nobody for ever.
import { runInDurableObject } from "cloudflare:test";
import { LIMITS } from "@svc/contract/limits.ts";
import { expect, test } from "vitest";
import { call, json } from "../../support/worker/gateway.ts";
import { placed, stored } from "../../support/worker/session.ts";

/** Longer than any test. */
const LASTS_MS = 600_000;

test("a call has its turn once the calls before it are over, in the order they came", async () => {
  const { stub } = await placed();
  expect(await stub.takeTurn("a", LASTS_MS)).toBe("taken");
  const order: string[] = [];
  const waiting = ["b", "c"].map(async (id) => {
    const answer = await stub.takeTurn(id, LASTS_MS);
    order.push(`${id} ${answer}`);
    await stub.endTurn(id);
  });
  await stub.endTurn("a");
  await Promise.all(waiting);
  expect(order).toEqual(["b taken", "c taken"]);
});

test("a call that waits no longer does not hold those after it", async () => {
  const { stub } = await placed();
  await stub.takeTurn("a", LASTS_MS);
  const [b, c] = [stub.takeTurn("b", LASTS_MS), stub.takeTurn("c", LASTS_MS)];
  await stub.endTurn("b");
  expect(await b).toBe("over");
  await stub.endTurn("a");
  expect(await c).toBe("taken");
});

test("a turn whose holder has died ends at its deadline", async () => {
  const { stub } = await placed();
  expect(await stub.takeTurn("dead", 50)).toBe("taken");
  expect(await stub.takeTurn("next", LASTS_MS)).toBe("taken");
});

test("no more calls wait than the limit says", async () => {
  const { stub } = await placed();
  await runInDurableObject(stub, async (session) => {
    await session.takeTurn("first", LASTS_MS);
    const waiting = Array.from({ length: LIMITS.turnsWaiting }, (_, n) =>
      session.takeTurn(String(n), LASTS_MS),
    );
    expect(await session.takeTurn("more", LASTS_MS)).toBe("crowded");
    session.endTurn("first");
    for (let n = 0; n < LIMITS.turnsWaiting; n += 1) session.endTurn(String(n));
    await Promise.all(waiting);
  });
});

test("a person who has the session lets no call in, not even one that waits already", async () => {
  const { stub, id, key } = await placed();
  await stub.takeTurn("a", LASTS_MS);
  const waiting = stub.takeTurn("b", LASTS_MS);
  const begun = await call(`/sessions/${id}/live-token`, { ...json({}), bearer: key });
  expect(begun.ok).toBe(true);
  expect(await stub.takeTurn("c", LASTS_MS)).toBe("handoff");
  await stub.endTurn("a");
  expect(await waiting).toBe("handoff");
});

test("each turn renews the lease as long as it was, and gives none to a session without", async () => {
  const { stub, id, key } = await placed();
  await stub.takeTurn("a", LASTS_MS);
  const state = async () => {
    const session = await stored(stub);
    return session?.state.status === "active" ? session.state.lease : undefined;
  };
  expect(await state()).toBeNull();
  await stub.endTurn("a");
  await call(`/sessions/${id}/lease`, { ...json({ idleSeconds: 600 }), bearer: key });
  const before = (await state())?.renewedAt ?? 0;
  await expect.poll(() => Date.now()).toBeGreaterThan(before);
  await stub.takeTurn("b", LASTS_MS);
  expect(await state()).toMatchObject({ idleMs: 600_000 });
  expect((await state())?.renewedAt).toBeGreaterThan(before);
});
