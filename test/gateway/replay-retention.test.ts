import { env } from "cloudflare:workers";
import { beforeEach, expect, test } from "vitest";
import { expectReplay, reapReplays, replayKey } from "../../control-plane/replays.ts";
import { ownSession } from "../support/worker/replays.ts";

const DAY_MS = 86_400_000;

beforeEach(() => env.DB.prepare("DELETE FROM replays").run());

/** A replay that is stored, of a session that ended at a time and whose plan keeps replays for so many days. */
async function stored(endsAt: number, days: number) {
  const session = await ownSession();
  const { id, orgId, report } = session;
  await expectReplay(env.DB, { id, orgId, endsAt, keepMs: days * DAY_MS }, endsAt);
  await env.OBJECTS.put(replayKey(orgId, id), "replay");
  await report({ state: "ready" });
  const isStored = async () => (await env.OBJECTS.head(replayKey(orgId, id))) !== null;
  return { ...session, isStored };
}

test("replays are deleted when they were kept for as long as the plan says, and no others", async () => {
  const now = Date.now();
  const old = await stored(now - 31 * DAY_MS, 30);
  const kept = await stored(now - 31 * DAY_MS, 90);
  expect(await reapReplays(env.DB, env.OBJECTS, now)).toBe(1);
  expect([await old.isStored(), await kept.isStored()]).toEqual([false, true]);
  expect(await (await old.replay()).json()).toMatchObject({ code: "ReplayUnavailable" });
  expect((await kept.replay()).status).toBe(200);
  expect(await reapReplays(env.DB, env.OBJECTS, now)).toBe(0);
});

test("a replay whose report never came is deleted too", async () => {
  const { id, orgId } = await ownSession();
  const now = Date.now();
  await expectReplay(env.DB, { id, orgId, endsAt: now - 2 * DAY_MS, keepMs: DAY_MS }, now);
  await env.OBJECTS.put(replayKey(orgId, id), "replay");
  expect(await reapReplays(env.DB, env.OBJECTS, now)).toBe(1);
  expect(await env.OBJECTS.head(replayKey(orgId, id))).toBeNull();
});

test("a replay that was only reported is kept as on the smallest plan", async () => {
  const { report } = await ownSession();
  await report({ state: "ready" });
  expect(await reapReplays(env.DB, env.OBJECTS, Date.now() + 29 * DAY_MS)).toBe(0);
  expect(await reapReplays(env.DB, env.OBJECTS, Date.now() + 31 * DAY_MS)).toBe(1);
});

test("more replays than fit into one step are deleted in one run", async () => {
  const now = Date.now();
  await env.DB.batch(
    Array.from({ length: 250 }, (_, n) =>
      env.DB.prepare(
        "INSERT INTO replays (session_id, org_id, state, updated_at, keep_until) VALUES (?, 'org', 'ready', 0, 1)",
      ).bind(`session-${n}`),
    ),
  );
  expect(await reapReplays(env.DB, env.OBJECTS, now)).toBe(250);
});
