import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { call, newOrg, unhurried } from "../../support/worker/gateway.ts";
import { anotherVmHost, newSandbox, newVmHost } from "../../support/worker/vm-host.ts";
import { createWith, holderOf, idOf, MOUNTS, newVolume } from "../../support/worker/volumes.ts";

const ABSENT = `vol_${"0".repeat(32)}`;

const remove = (key: string, id: string) =>
  call(`/sandboxes/${id}`, { method: "DELETE", bearer: key });

const freed = (volumeId: string) =>
  vi.waitFor(async () => expect(await holderOf(volumeId)).toBe(null), 30_000);

test("the host is told of each volume with its path and how often it was given, and a record says nothing of it", async () => {
  const host = await newVmHost(MOUNTS);
  const { key } = await newOrg("professional");
  const [left, right] = [await newVolume(key), await newVolume(key)];
  const first = await idOf(await createWith(key, [left.volumeId]));
  await remove(key, first);
  const second = await idOf(await createWith(key, [right.volumeId, left.volumeId]));
  const [, { body }] = (await host.calls("PUT")) as [unknown, { body: unknown }];
  expect(body).toMatchObject({
    volumes: [
      { volumeId: right.volumeId, path: "/data0", epoch: 1 },
      { volumeId: left.volumeId, path: "/data1", epoch: 2 },
    ],
  });
  expect(await holderOf(left.volumeId)).toBe(second);
  const record = await (await call(`/sandboxes/${second}`, { bearer: key })).text();
  expect(record).not.toContain("olume");
  const volume = await call(`/volumes/${left.volumeId}`, { bearer: key });
  expect(await volume.json()).toEqual(left);
});

test("a volume that is attached is 409, names the holder, and attaches none of the others", async () => {
  await newVmHost(MOUNTS);
  const { key } = await newOrg("professional");
  const [taken, free] = [await newVolume(key), await newVolume(key)];
  const holder = await idOf(await createWith(key, [taken.volumeId]));
  const response = await createWith(key, [free.volumeId, taken.volumeId]);
  expect(response.status).toBe(409);
  const body = await response.json<object>();
  expect(body).toMatchObject({ code: "VolumeAlreadyAttached", holder });
  expect(body).not.toHaveProperty("retryable");
  expect(await holderOf(free.volumeId)).toBe(null);
});

test("unknown, malformed and other orgs' volume ids are 404 with the same bytes, before the concurrency", async () => {
  await newVmHost(MOUNTS);
  const { key } = await newOrg("professional", { vms: 0 });
  const { volumeId } = await newVolume((await newOrg()).key);
  const strange = [
    "..",
    "%2e%2e",
    "vol_\0",
    "x".repeat(4097),
    `${ABSENT}/..`,
    ABSENT.toUpperCase(),
  ];
  for (const id of [volumeId, ABSENT, ...strange]) {
    const response = await createWith(key, [id]);
    expect([response.status, await response.text()]).toEqual([
      404,
      '{"error":"There is no such volume.","code":"NotFound"}',
    ]);
  }
  expect(await holderOf(volumeId)).toBe(null);
});

test("the order of a create with volumes: 404, then 409, then 429, then what no host can", async () => {
  await newVmHost();
  const full = await newOrg("professional", { vms: 0 });
  const { volumeId } = await newVolume(full.key);
  await env.DB.prepare("UPDATE volumes SET attached_to = 'x' WHERE id = ?").bind(volumeId).run();
  // Nobody of that id ever was: it is taken from it, and the concurrency is looked at.
  expect((await createWith(full.key, [volumeId])).status).toBe(429);
  await freed(volumeId);
  const { key } = await newOrg("professional");
  const mine = await newVolume(key);
  const response = await createWith(key, [mine.volumeId]);
  expect(response.status).toBe(409);
  expect(await response.json()).toMatchObject({
    code: "HostCapabilityMissing",
    missingCapabilities: ["volumes.mount"],
    retryable: true,
  });
  await freed(mine.volumeId);
});

test("a desktop with a volume is 409 HostCapabilityMissing whatever hosts there are, with an unknown volume 404 before", async () => {
  await newVmHost({ capabilities: ["desktop", "volumes.mount"] });
  const { key } = await newOrg("professional");
  const { volumeId } = await newVolume(key);
  const answers = [
    await createWith(key, [volumeId], { kind: "desktop" }),
    await createWith(key, [ABSENT], { kind: "desktop" }),
  ];
  expect(answers.map(({ status }) => status)).toEqual([409, 404]);
  expect(await answers[0]?.json()).toMatchObject({
    code: "HostCapabilityMissing",
    missingCapabilities: ["volumes.mount"],
  });
  expect(await holderOf(volumeId)).toBe(null);
});

test("only a host that can mount is asked for a sandbox with volumes", async () => {
  const unable = await newVmHost();
  const able = await anotherVmHost(MOUNTS);
  const { key } = await newOrg("professional");
  const { volumeId } = await newVolume(key);
  await idOf(await createWith(key, [volumeId]));
  expect([await unable.held(), (await able.held()).length]).toEqual([[], 1]);
});

test("of 20 creates at once one gets the volume, and the others learn who", async () => {
  unhurried();
  const host = await newVmHost(MOUNTS);
  const { key } = await newOrg("professional", { vms: 50 });
  const { volumeId } = await newVolume(key);
  const answers = await Promise.all(Array.from({ length: 20 }, () => createWith(key, [volumeId])));
  const won = answers.filter(({ status }) => status === 201);
  expect(won).toHaveLength(1);
  const lost = await Promise.all(
    answers.filter((answer) => !won.includes(answer)).map((answer) => answer.json<object>()),
  );
  const [winner] = await Promise.all(won.map(idOf));
  const same = { code: "VolumeAlreadyAttached", holder: winner };
  expect(lost).toEqual(lost.map(() => expect.objectContaining(same)));
  expect(await host.held()).toEqual([winner]);
  expect(await holderOf(volumeId)).toBe(winner);
});

test("two creates that want two volumes the other way round do not both lose for ever, nor share one", async () => {
  await newVmHost(MOUNTS);
  const { key } = await newOrg("professional");
  const ids = [(await newVolume(key)).volumeId, (await newVolume(key)).volumeId];
  const answers = await Promise.all([createWith(key, ids), createWith(key, ids.toReversed())]);
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201, 409]));
  const holders = await Promise.all(ids.map(holderOf));
  expect(new Set(holders).size).toBe(1);
});

test("a volume is free again when its machine is deleted: as soon as that is answered, twice is fine", async () => {
  await newVmHost(MOUNTS);
  const { key } = await newOrg("professional");
  const { volumeId } = await newVolume(key);
  for (let round = 0; round < 3; round += 1) {
    const id = await idOf(await createWith(key, [volumeId]));
    await remove(key, id);
    expect(await holderOf(volumeId)).toBe(null);
    await remove(key, id);
  }
});

test("a volume is free again when its machine dies", async () => {
  const host = await newVmHost(MOUNTS);
  const { key } = await newOrg("professional");
  const { volumeId } = await newVolume(key);
  const id = await idOf(await createWith(key, [volumeId]));
  const beat = await host.heartbeat();
  await host.post({
    ...beat,
    ...MOUNTS,
    vms: [{ id, state: "running", lastActivityAt: 0, ended: "machine_died" }],
  });
  await freed(volumeId);
  expect((await createWith(key, [volumeId])).status).toBe(201);
});

test("a volume is free again when its host is back without the machine", async () => {
  const host = await newVmHost(MOUNTS);
  const { key } = await newOrg("professional");
  const { volumeId } = await newVolume(key);
  await idOf(await createWith(key, [volumeId]));
  await host.beat({ bootId: crypto.randomUUID(), seq: 1, vms: [], ...MOUNTS });
  await freed(volumeId);
  expect(await host.held()).toHaveLength(1);
});

test.each(["full", "small", "lacking", "busy", "taken", "fault", "drop", "odd"])(
  "a volume is free again when the create fails: the host is %s",
  async (put) => {
    const host = await newVmHost(MOUNTS);
    await host.steer({ put });
    const { key } = await newOrg("professional");
    const { volumeId } = await newVolume(key);
    expect((await createWith(key, [volumeId])).status).toBeGreaterThanOrEqual(400);
    await freed(volumeId);
    await host.steer({});
    await idOf(await createWith(key, [volumeId]));
  },
);

test("a volume is not taken when the concurrency is used up", async () => {
  await newVmHost(MOUNTS);
  const { key } = await newOrg("free", { vms: 1 });
  await newSandbox(key);
  const { volumeId } = await newVolume(key);
  expect((await createWith(key, [volumeId])).status).toBe(429);
  const sql = "SELECT epoch FROM volumes WHERE id = ?";
  const row = await env.DB.prepare(sql).bind(volumeId).first<{ epoch: number }>();
  expect(row?.epoch).toBe(0);
});

test("a volume whose newest state lies with another host is 503, retryable, with the host's words", async () => {
  const host = await newVmHost(MOUNTS);
  await host.steer({ put: "busy" });
  const { key } = await newOrg("professional");
  const { volumeId } = await newVolume(key);
  const response = await createWith(key, [volumeId]);
  expect(response.status).toBe(503);
  expect(await response.json()).toMatchObject({
    code: "VolumeStatusUnknown",
    retryable: true,
    hint: expect.stringContaining("another host"),
  });
  const able = await anotherVmHost(MOUNTS);
  await idOf(await createWith(key, [volumeId]));
  expect(await able.held()).toHaveLength(1);
});

test("a volume where the machine has a file is 400, for no other try helps", async () => {
  const host = await newVmHost(MOUNTS);
  await host.steer({ put: "taken" });
  const { key } = await newOrg("professional");
  const { volumeId } = await newVolume(key);
  const response = await createWith(key, [volumeId]);
  expect(response.status).toBe(400);
  const error = expect.stringContaining("/data is no folder");
  expect(await response.json()).toMatchObject({ code: "ValidationError", field: "volumes", error });
});

test("a create with a volume goes on without a host that is away for good, not without one that is there", async () => {
  const first = await newVmHost(MOUNTS);
  const { key } = await newOrg("professional");
  const { volumeId } = await newVolume(key);
  await remove(key, await idOf(await createWith(key, [volumeId])));
  await remove(key, await idOf(await createWith(key, [volumeId])));
  const mountsOf = async (host: typeof first) =>
    (await host.calls("PUT")).map(({ body }) => (body as { volumes: unknown[] }).volumes[0]);
  expect(await mountsOf(first)).toEqual([
    { volumeId, path: "/data0", epoch: 1 },
    { volumeId, path: "/data0", epoch: 2 },
  ]);
  const second = await newVmHost(MOUNTS);
  await vi.waitFor(async () => {
    const id = await idOf(await createWith(key, [volumeId]));
    await remove(key, id);
    expect((await mountsOf(second)).at(-1)).toMatchObject({ takeOver: true });
  }, 30_000);
});
