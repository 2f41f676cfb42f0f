import { expect, test } from "vitest";
import { targetOf } from "../../browser-pool/server/discovery.ts";

const target = (title: string) =>
  targetOf({ targetId: "A1", type: "page", title, url: "about:blank" }).title;

test("a page without a title, as one is for a moment after its birth, goes by its URL", () => {
  expect(target("")).toBe("about:blank");
  expect(target("News")).toBe("News");
});
