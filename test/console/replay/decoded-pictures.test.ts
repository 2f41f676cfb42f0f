import { expect, test } from "vitest";
import { DecodedPictures } from "../../../console/replay/decoded-pictures.ts";

/** Pictures that are not closed yet, by their URLs. */
function decoder() {
  const open = new Set<string>();
  const pictures = new DecodedPictures(async (url) => {
    if (url === "broken") return null;
    open.add(url);
    return { close: () => open.delete(url) };
  });
  const decode = async (id: number, url: string) => {
    pictures.of(id, url);
    await new Promise(setImmediate);
    return pictures.of(id, url);
  };
  return { open, pictures, decode };
}

test("an element has its newest decoded picture alone", async () => {
  const { open, pictures, decode } = decoder();
  expect(pictures.of(1, "a")).toBeNull();
  expect(await decode(1, "a")).toMatchObject({ url: "a", image: {} });
  expect(await decode(1, "b")).toMatchObject({ url: "b", image: {} });
  expect([...open]).toEqual(["b"]);
  expect(await decode(1, "broken")).toEqual({ url: "broken", image: null });
  expect([...open]).toEqual([]);
});

test("of a recording that shows new elements without end, only the pictures that are shown stay decoded", async () => {
  const { open, pictures, decode } = decoder();
  for (let id = 1; id <= 200; id += 1) {
    pictures.keepOnly(new Map([[id, `picture ${id}`]]));
    await decode(id, `picture ${id}`);
    expect(open.size).toBe(1);
  }
});

test("nothing stays decoded after the end, whatever is on its way", async () => {
  const { open, pictures, decode } = decoder();
  await decode(1, "a");
  pictures.of(2, "b");
  pictures.close();
  await new Promise(setImmediate);
  expect([...open]).toEqual([]);
});
