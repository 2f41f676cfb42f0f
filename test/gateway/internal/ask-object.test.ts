import { LIMITS } from "@svc/contract/limits.ts";
import { expect, test } from "vitest";
import { ask, get, object, stored } from "../../support/worker/objects.ts";

const PART = LIMITS.objectPartBytes;

test("an object that a host removes is gone, and to remove it again changes nothing", async () => {
  const url = await stored("bytes");
  for (const _time of ["once", "again"])
    expect((await ask({ object, delete: true })).status).toBe(200);
  expect((await ask({ object })).status).toBe(404);
  expect((await get(url)).status).toBe(404);
});

const refusal = async (response: Response) => [response.status, await response.json()];

test("a condition on an object of several parts is 400", async () => {
  const refused = await ask({ object, sizeBytes: PART + 1, ifEtag: null });
  expect(await refusal(refused)).toMatchObject([400, { field: "ifEtag" }]);
});

test.each([
  { object: { ...object, file: "../other" } },
  { object: { ...object, file: "a/b" } },
  { object: { ...object, file: ".." } },
  { object: { ...object, file: "" } },
  { object: { ...object, volume: "vol_1" } },
  { object: { purpose: "snapshot", org: "..", snapshot: "s", file: "f" } },
  { object: { purpose: "profile", file: "f" } },
  { object, sizeBytes: -1 },
  { object, sizeBytes: 1.5 },
  { object, sizeBytes: LIMITS.objectBytes + 1 },
  {},
])("asking for an object by %j is 400", async (body) => {
  expect((await ask(body)).status).toBe(400);
});

test("asking for an object that was never stored is 404, and with a wrong bearer 401", async () => {
  expect((await ask({ object: { ...object, file: "never" } })).status).toBe(404);
  expect((await ask({ object }, "wrong")).status).toBe(401);
});
