import { env } from "cloudflare:workers";
import { partName } from "@svc/contract/host-protocol/recording-part.ts";
import { beforeEach, expect, test } from "vitest";
import { recordingKey } from "../../control-plane/objects.ts";
import { expectRecording, keepRecording, reapRecordings } from "../../control-plane/recordings.ts";

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const SIZE = { width: 640, height: 480 };
const PART = partName({ runAt: 1, offsetMs: 0, durationMs: 1, isCut: false });

beforeEach(() => env.DB.prepare("DELETE FROM recordings").run());

/** A recording that began at a time, with one part. */
async function stored(sandboxId: string, at: number, days: number) {
  const name = { orgId: "org_1", sandboxId };
  await expectRecording(env.DB, name, { ...SIZE, keepMs: days * DAY_MS }, at);
  const key = `${recordingKey("org_1", sandboxId)}/${PART}`;
  await env.OBJECTS.put(key, "part");
  return { name, isStored: async () => (await env.OBJECTS.head(key)) !== null };
}

test("recordings are deleted when they were kept for as long as the plan says, and no others", async () => {
  const now = Date.now();
  const old = await stored("old", now - 8 * DAY_MS, 7);
  const kept = await stored("kept", now - 8 * DAY_MS, 30);
  // Its name begins like that of the old one.
  const other = await stored("old-2", now, 7);
  expect(await reapRecordings(env.DB, env.OBJECTS, now)).toBe(1);
  const there = await Promise.all([old, kept, other].map(({ isStored }) => isStored()));
  expect(there).toEqual([false, true, true]);
  expect(await reapRecordings(env.DB, env.OBJECTS, now)).toBe(0);
});

test("a recording that goes on is kept from its last part on", async () => {
  const now = Date.now();
  const { name, isStored } = await stored("on", now - 8 * DAY_MS, 7);
  expect(await keepRecording(env.DB, name, now - 2 * DAY_MS)).toBe(true);
  expect(await reapRecordings(env.DB, env.OBJECTS, now)).toBe(0);
  expect(await reapRecordings(env.DB, env.OBJECTS, now + 5 * DAY_MS + 2 * HOUR_MS)).toBe(1);
  expect(await isStored()).toBe(false);
});

test("what was kept long enough takes no part any more, and is deleted once none can come", async () => {
  const now = Date.now();
  const { name, isStored } = await stored("late", now - 7 * DAY_MS, 7);
  expect(await keepRecording(env.DB, name, now)).toBe(false);
  // A part that was asked for before may still be on its way.
  expect(await reapRecordings(env.DB, env.OBJECTS, now)).toBe(0);
  expect(await isStored()).toBe(true);
  expect(await reapRecordings(env.DB, env.OBJECTS, now + 2 * HOUR_MS)).toBe(1);
});
