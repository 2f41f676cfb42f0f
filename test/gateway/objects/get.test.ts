import { env } from "cloudflare:workers";
import { mintObjectToken, type ObjectClaims } from "@svc/contract/tokens.ts";
import { expect, test } from "vitest";
import { get, stored, textOf, volume } from "../../support/worker/objects.ts";
import { call } from "../../support/worker/gateway.ts";
import { app } from "../../../src/app.ts";
import { SIGNING_SECRET } from "../../support/secrets.ts";

const TEXT = { act: "get", key: "a", contentType: "text/plain" } as const;

test("what a host stores it reads again, and it lies under the volume's own name", async () => {
  const url = await stored("bytes");
  const read = await get(url);
  expect(read.headers.get("content-length")).toBe("5");
  expect(await textOf(read)).toBe("bytes");
  expect(await (await env.OBJECTS.get(`${volume}/chunk-1`))?.text()).toBe("bytes");
});

test("an object of no bytes is an object", async () => {
  expect(await textOf(await get(await stored("")))).toBe("");
});

test.each([
  ["bytes=0-0", 206, "0", "bytes 0-0/10"],
  ["bytes=3-5", 206, "345", "bytes 3-5/10"],
  ["bytes=8-", 206, "89", "bytes 8-9/10"],
  ["bytes=8-99", 206, "89", "bytes 8-9/10"],
  ["bytes=-3", 206, "789", "bytes 7-9/10"],
  ["bytes=-99", 206, "0123456789", "bytes 0-9/10"],
  ["bytes=5-3", 200, "0123456789", null],
  ["bytes=0-1,4-5", 200, "0123456789", null],
  ["lines=0-1", 200, "0123456789", null],
])("a read of ten bytes with %s is %i %s", async (range, status, text, contentRange) => {
  const read = await get(await stored("0123456789"), range);
  expect(read.status).toBe(status);
  expect(read.headers.get("content-range")).toBe(contentRange);
  expect(read.headers.get("content-length")).toBe(String(text.length));
  expect(await textOf(read)).toBe(text);
});

test("a range beyond the end of an object is 416", async () => {
  const read = await get(await stored("0123456789"), "bytes=10-");
  expect(read.status).toBe(416);
  expect(await read.json()).toMatchObject({ code: "RangeNotSatisfiable" });
});

const expiresAt = Date.now() + 60_000;
const at = { key: "a", bytes: 1, expiresAt };
const read = { act: "get", key: "a", contentType: "text/plain", expiresAt } as const;
const tokenOf = (claims: ObjectClaims) => mintObjectToken(SIGNING_SECRET, claims);

test.each<["GET" | "PUT" | "POST", ObjectClaims]>([
  ["PUT", read],
  ["POST", read],
  ["GET", { act: "put", ...at }],
  ["POST", { act: "put", ...at }],
  ["GET", { act: "part", ...at, upload: "u", number: 1 }],
  ["POST", { act: "part", ...at, upload: "u", number: 1 }],
  ["GET", { act: "complete", ...at, upload: "u" }],
  ["PUT", { act: "complete", ...at, upload: "u" }],
  ["PUT", { act: "put", ...at, expiresAt: Date.now() - 1 }],
  ["POST", { act: "complete", ...at, upload: "u", expiresAt: Date.now() - 1 }],
])("a %s of an object is 404 with a token of %j", async (method, claims) => {
  const init = method === "GET" ? {} : { method, body: "x" };
  const response = await call(`/objects/${await tokenOf(claims)}`, init);
  expect(response.status).toBe(404);
  expect(await response.json()).toMatchObject({ code: "ObjectNotFound" });
});

test("a stored object that cannot be read is 502 and retryable, by its signed URL", async () => {
  const claims = { ...TEXT, expiresAt: Date.now() + 60_000 };
  const token = await mintObjectToken(SIGNING_SECRET, claims);
  const OBJECTS = { get: () => Promise.reject(new Error("R2 is down")) };
  const response = await app.request(`/objects/${token}`, {}, { ...env, OBJECTS });
  expect(response.status).toBe(502);
  expect(await response.json()).toMatchObject({ code: "ControlPlaneUnavailable" });
});

test("a signed URL of an object ends with its time, and is of no use for another object", async () => {
  const claims = { ...TEXT, expiresAt: Date.now() - 1 };
  await env.OBJECTS.put("a", "text");
  const expired = await mintObjectToken(SIGNING_SECRET, claims);
  const foreign = await mintObjectToken("other", { ...claims, expiresAt: Date.now() + 60_000 });
  for (const token of [expired, foreign])
    expect((await call(`/objects/${token}`)).status).toBe(404);
});

test.each(["x", "a.b", "%00"])("an object URL of %o is 404", async (token) => {
  expect((await call(`/objects/${token}`)).status).toBe(404);
});
