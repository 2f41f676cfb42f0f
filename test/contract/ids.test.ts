import { wireMismatch, wireVersionOf } from "@svc/contract/browser/wire-versions.ts";
import { formatApiKey, newApiKey, parseApiKey, randomText } from "@svc/contract/ids.ts";
import { expect, test } from "vitest";

test("a key is written and read", () => {
  const key = newApiKey();
  const text = formatApiKey(key);
  expect(text).toMatch(/^svc_live_[0-9A-Za-z]{12}_[0-9A-Za-z]{40}$/);
  expect(parseApiKey(text)).toEqual(key);
});

test.each(["", "svc_live_", "svc_test_aaaaaaaaaaaa_b", `x${formatApiKey(newApiKey())}`])(
  "%o is no key",
  (text) => expect(parseApiKey(text)).toBeNull(),
);

test("random text takes no letter more often: bytes above the last whole round are skipped", () => {
  let next = 245;
  const random = (length: number) => Uint8Array.from({ length }, () => next++ % 256);
  // 245, 246, 247 are the last three letters; 248 to 255 are skipped; 0 and 1 the first two.
  expect(randomText(5, random)).toBe("xyz01");
});

test.each([
  ["Playwright/1.65.1 (x64; debian 12) node/24.0", "1.65"],
  ["Playwright/1.50.0", "1.50"],
  ["Mozilla/5.0 Playwright/1.65", null],
  ["curl/8", null],
  [undefined, null],
])("the wire version of %o is %o", (agent, version) => {
  expect(wireVersionOf(agent)).toBe(version);
});

test("a mismatch names the client's version, what is served, and the fix", () => {
  const text = wireMismatch("1.50");
  expect(text).toContain("1.50");
  expect(text).toContain("1.65");
  expect(text).toContain("connectOverCDP");
  expect(text.endsWith("\n")).toBe(true);
});
