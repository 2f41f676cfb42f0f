import {
  ask,
  get,
  object,
  pathOf,
  put,
  stored,
  textOf,
  urls,
  volume,
} from "../../support/worker/objects.ts";
import { env } from "cloudflare:workers";
import { LIMITS } from "@svc/contract/limits.ts";
import { mintObjectToken, type ObjectClaims } from "@svc/contract/tokens.ts";
import { describe, expect, test } from "vitest";
import { call, json } from "../../support/worker/gateway.ts";

const PART = LIMITS.objectPartBytes;
test("what a host stores it reads again, and it lies under the volume's own name", async () => {
  const url = await stored("bytes");
  const read = await get(url);
  expect(read.headers.get("content-length")).toBe("5");
  expect(await textOf(read)).toBe("bytes");
  expect(await (await env.OBJECTS.get(`${volume}/chunk-1`))?.text()).toBe("bytes");
});

test("what a host removes is gone, and to remove it again is nothing", async () => {
  const url = await stored("bytes");
  for (const _time of ["once", "again"])
    expect((await ask({ object, delete: true })).status).toBe(200);
  expect((await ask({ object })).status).toBe(404);
  expect((await get(url)).status).toBe(404);
});

describe("a conditional PUT", () => {
  const ifEtag = async (etag: string | null, text: string): Promise<Response> =>
    put((await urls({ object, sizeBytes: text.length, ifEtag: etag })).put, text);
  const refusal = async (response: Response) => [response.status, await response.json()];
  const changed = [412, { code: "ObjectChanged" }];

  test("takes the place of what it names, and of nothing else", async () => {
    await stored("first");
    const { etag = "" } = await urls({ object });
    expect((await ifEtag(etag, "second")).status).toBe(200);
    expect(await refusal(await ifEtag(etag, "third"))).toMatchObject(changed);
    expect(await refusal(await ifEtag(null, "third"))).toMatchObject(changed);
    const now = await urls({ object });
    expect(await textOf(await get(now.get))).toBe("second");
    expect(now.etag).not.toBe(etag);
  });

  test("of what lies nowhere yet is the only one", async () => {
    await ask({ object, delete: true });
    expect(await refusal(await ifEtag("0".repeat(32), "lost"))).toMatchObject(changed);
    // Both were told where to store before either did.
    const [one, two] = [
      await urls({ object, sizeBytes: 3, ifEtag: null }),
      await urls({ object, sizeBytes: 3, ifEtag: null }),
    ];
    expect((await put(one.put, "one")).status).toBe(200);
    expect(await refusal(await put(two.put, "two"))).toMatchObject(changed);
    expect(await textOf(await get((await urls({ object })).get))).toBe("one");
  });

  test("is for one PUT alone", async () => {
    const refused = await ask({ object, sizeBytes: PART + 1, ifEtag: null });
    expect(await refusal(refused)).toMatchObject([400, { field: "ifEtag" }]);
  });
});

test("an object of no bytes is one", async () => {
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
])("of ten bytes %s is %i %s", async (range, status, text, contentRange) => {
  const read = await get(await stored("0123456789"), range);
  expect(read.status).toBe(status);
  expect(read.headers.get("content-range")).toBe(contentRange);
  expect(read.headers.get("content-length")).toBe(String(text.length));
  expect(await textOf(read)).toBe(text);
});

test("a range beyond the end is 416", async () => {
  const read = await get(await stored("0123456789"), "bytes=10-");
  expect(read.status).toBe(416);
  expect(await read.json()).toMatchObject({ code: "RangeNotSatisfiable" });
});

describe("an object larger than one part", () => {
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

  test("is stored in parts, in any order, and is there when they are put together", async () => {
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

  test("lacks a part, or has a wrong one: nothing is there, and it says to begin anew", async () => {
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

  test("takes no part once it is complete", async () => {
    const { parts, complete } = await begin();
    const etags = [
      await etagOf(await put(parts[0]?.url, pieces[0] ?? "")),
      await etagOf(await put(parts[1]?.url, pieces[1] ?? "")),
    ];
    expect((await call(pathOf(complete), json({ etags }))).status).toBe(200);
    expect((await put(parts[1]?.url, pieces[1] ?? "")).status).toBe(409);
    expect((await call(pathOf(complete), json({ etags }))).status).toBe(409);
  });
});

test.each([
  ["fewer", "abcd"],
  ["more", "abcdef"],
])("%s bytes than were signed for are 400 and change nothing", async (_name, text) => {
  const url = await stored("12345");
  const refused = await put((await urls({ object, sizeBytes: 5 })).put, text);
  expect(refused.status).toBe(400);
  expect(await refused.json()).toMatchObject({ field: "content-length" });
  expect(await textOf(await get(url))).toBe("12345");
});

test("a body without a length is 400", async () => {
  const { put: url } = await urls({ object, sizeBytes: 5 });
  const unsized = new Blob(["12345"]).stream().pipeThrough(new TransformStream());
  expect((await put(url, unsized)).status).toBe(400);
});

describe("a URL", () => {
  const expiresAt = Date.now() + 60_000;
  const at = { key: "a", bytes: 1, expiresAt };
  const read = { act: "get", key: "a", contentType: "text/plain", expiresAt } as const;
  const tokenOf = (claims: ObjectClaims) => mintObjectToken("signing", claims);

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
  ])("is of no use for %s with %j", async (method, claims) => {
    const init = method === "GET" ? {} : { method, body: "x" };
    const response = await call(`/objects/${await tokenOf(claims)}`, init);
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ code: "ObjectNotFound" });
  });
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
])("%j is 400", async (body) => {
  expect((await ask(body)).status).toBe(400);
});

test("what was never stored is 404, and a wrong bearer 401", async () => {
  expect((await ask({ object: { ...object, file: "never" } })).status).toBe(404);
  expect((await ask({ object }, "wrong")).status).toBe(401);
});
