import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { runScheduled } from "../../../src/scheduled.ts";
import { call, newOrg } from "../../support/worker/gateway.ts";
import { createWith, idOf, MOUNTS, newVolume } from "../../support/worker/volumes.ts";
import { newVmHost } from "../../support/worker/vm-host.ts";

const { key } = await newOrg("professional");

const remove = (key: string, id: string) =>
  call(`/sandboxes/${id}`, { method: "DELETE", bearer: key });

test("a DELETE of a volume is 200 once and 404 after, and an hour later its objects are gone, nobody else's", async () => {
  const [left, right] = [await newVolume(key), await newVolume(key)];
  for (const { volumeId } of [left, right])
    for (const file of ["manifest.json", "chunk-1"])
      await env.OBJECTS.put(`${volumeId}/${file}`, "x");
  const remove = () => call(`/volumes/${left.volumeId}`, { method: "DELETE", bearer: key });
  const first = await remove();
  expect([first.status, await first.json()]).toEqual([200, { ok: true }]);
  expect((await remove()).status).toBe(404);
  expect((await call(`/volumes/${left.volumeId}`, { bearer: key })).status).toBe(404);
  const stored = async (id: string) => (await env.OBJECTS.list({ prefix: id })).objects.length;
  const run = () => runScheduled({ cron: "", scheduledTime: 0, noRetry: () => {} }, env);
  await run();
  // A signed URL may still name them.
  expect(await stored(left.volumeId)).toBe(2);
  await env.DB.prepare("UPDATE discarded_volumes SET discarded_at = 0").run();
  await run();
  expect([await stored(left.volumeId), await stored(right.volumeId)]).toEqual([0, 2]);
});

// Any client's URL is a shorter one before it is sent.
test.each(["..", "%2e%2e", "."])(
  "a DELETE of the volume %s is 404 or another route",
  async (id) => {
    const { status } = await call(`/volumes/x/${id}/${id}`, { method: "DELETE", bearer: key });
    expect(status).toBe(404);
  },
);

test("a DELETE of an attached volume is 409 VolumeInUse while its machine runs or sleeps, and 200 after", async () => {
  await newVmHost(MOUNTS);
  const { key } = await newOrg("professional");
  const { volumeId } = await newVolume(key);
  const id = await idOf(await createWith(key, [volumeId]));
  const drop = () => call(`/volumes/${volumeId}`, { method: "DELETE", bearer: key });
  for (const act of ["", "pause"]) {
    if (act) await call(`/sandboxes/${id}/${act}`, { method: "POST", bearer: key });
    const response = await drop();
    expect(response.status).toBe(409);
    expect(await response.json()).toMatchObject({ code: "VolumeInUse", holder: id });
    expect((await createWith(key, [volumeId])).status).toBe(409);
  }
  await call(`/sandboxes/${id}/resume`, { method: "POST", bearer: key });
  expect((await drop()).status).toBe(409);
  await remove(key, id);
  expect((await drop()).status).toBe(200);
  expect((await createWith(key, [volumeId])).status).toBe(404);
});

test("a DELETE of a volume and a create with it at once: one of them wins, and nothing is half done", async () => {
  await newVmHost(MOUNTS);
  const { key } = await newOrg("professional", { vms: 50 });
  for (let round = 0; round < 5; round += 1) {
    const { volumeId } = await newVolume(key);
    const [created, dropped] = await Promise.all([
      createWith(key, [volumeId]),
      call(`/volumes/${volumeId}`, { method: "DELETE", bearer: key }),
    ]);
    expect([
      [201, 409],
      [404, 200],
    ]).toContainEqual([created.status, dropped.status]);
  }
});
