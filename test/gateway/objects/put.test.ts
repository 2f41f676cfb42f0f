import { expect, test } from "vitest";
import { ask, get, object, put, stored, textOf, urls } from "../../support/worker/objects.ts";

const ifEtag = async (etag: string | null, text: string): Promise<Response> =>
  put((await urls({ object, sizeBytes: text.length, ifEtag: etag })).put, text);
const refusal = async (response: Response) => [response.status, await response.json()];
const changed = [412, { code: "ObjectChanged" }];

test("a conditional PUT takes the place of the object that it names, and of nothing else", async () => {
  await stored("first");
  const { etag = "" } = await urls({ object });
  expect((await ifEtag(etag, "second")).status).toBe(200);
  expect(await refusal(await ifEtag(etag, "third"))).toMatchObject(changed);
  expect(await refusal(await ifEtag(null, "third"))).toMatchObject(changed);
  const now = await urls({ object });
  expect(await textOf(await get(now.get))).toBe("second");
  expect(now.etag).not.toBe(etag);
});

test("a conditional PUT of an object that is nowhere yet is the only one", async () => {
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

test.each([
  ["fewer", "abcd"],
  ["more", "abcdef"],
])("a PUT of %s bytes than were signed for is 400 and changes nothing", async (_name, text) => {
  const url = await stored("12345");
  const refused = await put((await urls({ object, sizeBytes: 5 })).put, text);
  expect(refused.status).toBe(400);
  expect(await refused.json()).toMatchObject({ field: "content-length" });
  expect(await textOf(await get(url))).toBe("12345");
});

test("a PUT of an object without a length is 400", async () => {
  const { put: url } = await urls({ object, sizeBytes: 5 });
  const unsized = new Blob(["12345"]).stream().pipeThrough(new TransformStream());
  expect((await put(url, unsized)).status).toBe(400);
});
