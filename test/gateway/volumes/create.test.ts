import { env } from "cloudflare:workers";
import { Volume, VolumeList } from "@svc/contract/vm/volume.ts";
import { describe, expect, test } from "vitest";
import { app } from "../../../src/app.ts";
import { runScheduled } from "../../../src/scheduled.ts";
import { call, json, newOrg } from "../../support/worker/gateway.ts";
import { newVolume } from "../../support/worker/volumes.ts";

const { key } = await newOrg("professional");

describe("POST /volumes", () => {
  test("an empty body, and none, is a volume with defaults and nothing else", async () => {
    for (const init of [json({}), { method: "POST" }]) {
      const response = await call("/volumes", { ...init, bearer: key });
      expect(response.status).toBe(201);
      const body = await response.json<object>();
      expect(Object.keys(body).toSorted()).toEqual(["createdAt", "name", "volumeId"]);
      expect(Volume.parse(body).name).toBe("volume");
    }
  });

  test("what is wrong in an object is dropped, what is right is answered and stored", async () => {
    const asked = { name: " a ", sizeMb: 2e6, metadata: { a: "b", c: 1 }, org: "x" };
    const made = await newVolume(key, asked);
    expect(made).toMatchObject({ name: "a", sizeMb: 1_048_576, metadata: { a: "b" } });
    const response = await call(`/volumes/${made.volumeId}`, { bearer: key });
    expect([response.status, await response.json()]).toEqual([200, made]);
    const plain = await newVolume(key, { name: 5, sizeMb: "1", metadata: ["x"] });
    const got = await call(`/volumes/${plain.volumeId}`, { bearer: key });
    expect(Object.keys(await got.json<object>()).toSorted()).toEqual([
      "createdAt",
      "name",
      "volumeId",
    ]);
  });

  test.each(["{", "[]", "null", "5", '"text"'])("a body of %s is 400", async (body) => {
    const response = await call("/volumes", { method: "POST", body, bearer: key });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ code: "InvalidJson" });
  });
});

test("GET /volumes lists all of the org's, newest first, and nobody else's", async () => {
  const mine = await newOrg();
  const other = await newOrg();
  await newVolume(other.key);
  const made: string[] = [];
  // Within one millisecond, too, and more than any page has.
  for (let n = 0; n < 120; n += 1)
    made.push((await newVolume(mine.key, { name: `${n}` })).volumeId);
  const response = await call("/volumes?limit=3&cursor=x", { bearer: mine.key });
  const { volumes } = VolumeList.parse(await response.json());
  expect(volumes.map(({ volumeId }) => volumeId)).toEqual(made.toReversed());
  expect(await (await call("/volumes", { bearer: mine.key })).text()).not.toContain(mine.orgId);
});

describe("an id that is nobody's, or another org's, is 404 with the same bytes:", () => {
  const answer = '{"error":"There is no such volume.","code":"NotFound"}';
  const absent = `vol_${"0".repeat(32)}`;
  const ids = [
    "x",
    absent,
    "vol_",
    `${absent}0`,
    absent.toUpperCase(),
    "..%2f..%2fetc%2fpasswd",
    "%2e%2e%2f%2e%2e",
    "vol_%00",
    `${absent}%00`,
    `${absent}%0a`,
    "vol_%ff",
    "%252e%252e",
    "x".repeat(4097),
    `vol_${"0".repeat(4093)}`,
    "' OR 1=1 --",
  ];

  test.each(["GET", "DELETE"])("%s", async (method) => {
    const { volumeId } = await newVolume((await newOrg()).key);
    for (const id of [volumeId, ...ids]) {
      const response = await call(`/volumes/${id}`, { method, bearer: key });
      expect([id, response.status, await response.text()]).toEqual([id, 404, answer]);
    }
  });
});

// Any client's URL is a shorter one before it is sent.
test.each(["..", "%2e%2e", "."])("%s is 404 or another route", async (id) => {
  const { status } = await call(`/volumes/x/${id}/${id}`, { method: "DELETE", bearer: key });
  expect(status).toBe(404);
});

test("DELETE is 200 once and 404 after, and an hour later its objects are gone, nobody else's", async () => {
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

describe("where the volumes store is unconfigured every volumes route is 501, for a good key:", () => {
  const { volumeId } = { volumeId: `vol_${"0".repeat(32)}` };
  test.each([
    ["POST", "/volumes", {}],
    ["GET", "/volumes", undefined],
    ["GET", `/volumes/${volumeId}`, undefined],
    ["DELETE", `/volumes/${volumeId}`, undefined],
    ["POST", "/sandboxes", { volumes: [{ volumeId, path: "/data" }] }],
    ["POST", "/desktops", { volumes: [{ volumeId, path: "/data" }] }],
  ])("%s %s", async (method, path, body) => {
    const bare = { ...env, OBJECTS: undefined };
    const init = body ? json(body, method) : { method };
    const headers = { authorization: `Bearer ${key}` };
    const response = await app.request(path, { ...init, headers }, bare);
    expect(response.status).toBe(501);
    expect(await response.json()).toMatchObject({ code: "NotConfigured" });
    expect((await app.request(path, init, bare)).status).toBe(401);
  });
});

describe("while D1 fails", () => {
  const fail = () => Promise.reject(new Error("D1 is down"));
  const bind = () => ({ run: fail, first: fail, all: fail });
  const DB = { prepare: () => ({ bind }), batch: fail };

  test.each([
    ["POST", "", 502, "ControlPlaneUnavailable"],
    ["GET", "", 502, "ControlPlaneUnavailable"],
    ["GET", "/:id", 502, "ControlPlaneUnavailable"],
    // Whether it is attached cannot be told: it is not deleted.
    ["DELETE", "/:id", 503, "VolumeStatusUnknown"],
  ])(
    "%s /volumes%s is %d %s, and the volume is what it was",
    async (method, rest, status, code) => {
      const volume = await newVolume(key);
      const headers = { authorization: `Bearer ${key}` };
      const path = `/volumes${rest.replace(":id", volume.volumeId)}`;
      const response = await app.request(path, { method, headers }, { ...env, DB });
      expect(response.status).toBe(status);
      expect(await response.json()).toMatchObject({ code, retryable: true });
      const after = await call(`/volumes/${volume.volumeId}`, { bearer: key });
      expect(await after.json()).toEqual(volume);
    },
  );
});
