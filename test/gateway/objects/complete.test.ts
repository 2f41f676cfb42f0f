import { env } from "cloudflare:workers";
import { LIMITS } from "@svc/contract/limits.ts";
import { expect, test } from "vitest";
import { ask, get, object, pathOf, put, urls, volume } from "../../support/worker/objects.ts";
import { call, json } from "../../support/worker/gateway.ts";

const PART = LIMITS.objectPartBytes;

const sizeBytes = PART + 10;
const whole = new Uint8Array(sizeBytes).map((_, at) => at % 251);
const pieces = [whole.subarray(0, PART), whole.subarray(PART)];
async function begin() {
  const { parts = [], complete, put: single } = await urls({ object, sizeBytes });
  expect(single).toBeUndefined();
  expect(parts.map(({ bytes }) => bytes)).toEqual([PART, 10]);
  return { parts, complete };
}
async function etagOf(response: Response): Promise<string> {
  expect(response.status).toBe(200);
  const { etag } = await response.json<{ etag: string }>();
  return etag;
}

test("an object larger than one part is stored in parts, in any order, and is there when they are put together", async () => {
  await env.OBJECTS.delete(`${volume}/chunk-1`);
  const { parts, complete } = await begin();
  const second = await etagOf(await put(parts[1]?.url, pieces[1] ?? ""));
  const first = await etagOf(await put(parts[0]?.url, pieces[0] ?? ""));
  expect((await ask({ object })).status).toBe(404);
  const done = await call(pathOf(complete), json({ etags: [first, second] }));
  expect(done.status).toBe(200);
  const read = await get((await urls({ object })).get);
  expect(Buffer.from(await read.arrayBuffer()).equals(whole)).toBe(true);
});

test("an object that lacks a part, or has a wrong part, is not there, and the host is told to begin anew", async () => {
  await env.OBJECTS.delete(`${volume}/chunk-1`);
  const { parts, complete } = await begin();
  const first = await etagOf(await put(parts[0]?.url, pieces[0] ?? ""));
  const few = await call(pathOf(complete), json({ etags: [first] }));
  expect(few.status).toBe(400);
  const odd = await call(pathOf(complete), json({ etags: [first, "odd"] }));
  expect(odd.status).toBe(409);
  expect(await odd.json()).toMatchObject({ code: "UploadVoid" });
  expect((await ask({ object })).status).toBe(404);
});

test("an object takes no part once it is complete", async () => {
  const { parts, complete } = await begin();
  const etags = [
    await etagOf(await put(parts[0]?.url, pieces[0] ?? "")),
    await etagOf(await put(parts[1]?.url, pieces[1] ?? "")),
  ];
  expect((await call(pathOf(complete), json({ etags }))).status).toBe(200);
  expect((await put(parts[1]?.url, pieces[1] ?? "")).status).toBe(409);
  expect((await call(pathOf(complete), json({ etags }))).status).toBe(409);
});
