import { matchesGlob } from "@svc/contract/browser/url-glob.ts";
import { expect, test } from "vitest";

test.each([
  ["https://a.test/home", "https://a.test/home", true],
  ["https://a.test/home", "https://a.test/home?x=1", false],
  ["https://a.test/home*", "https://a.test/home?x=1", true],
  ["https://a.test/*", "https://a.test/u/7", false],
  ["https://a.test/**", "https://a.test/u/7", true],
  ["https://a.test/u/*/settings", "https://a.test/u/7/settings", true],
  ["https://*.a.test/**", "https://www.a.test/", true],
  ["https://*.a.test/**", "https://evil.test/.a.test/", false],
  ["https://a.test/**", "https://a.test.evil.test/", false],
  ["**", "", true],
  ["", "", true],
  // All else stands for itself.
  ["https://a.test/?q=.+", "https://a.test/?q=.+", true],
  ["https://a.test/.", "https://a.test/x", false],
])("%o of %o is %o", (glob, url, expected) => {
  expect(matchesGlob(glob, url)).toBe(expected);
});

test("a glob that is made to be slow is not", () => {
  expect(matchesGlob(`${"**a".repeat(600)}b`, "a".repeat(2_048))).toBe(false);
});
