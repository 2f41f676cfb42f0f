import { expect, test } from "vitest";
import { Domains } from "../../browser-pool/egress/domains.ts";

function domains(...names: string[]): Domains {
  const made = new Domains();
  made.replace(names);
  return made;
}

test.each([
  "good.test",
  "a.good.test",
  "a.b.good.test",
  "GOOD.test",
  "good.test.",
  "xn--bcher-kva.test",
])("%s is allowed", (host) =>
  expect(domains("good.test", "xn--bcher-kva.test").has(host)).toBe(true),
);

test.each([
  "",
  ".",
  "test",
  "ood.test",
  "vgood.test",
  "good.test.evil",
  "good.test..",
  "93.184.215.14",
  "::1",
  "good.test:80",
])("%s is not", (host) => expect(domains("good.test").has(host)).toBe(false));

test("an address is never allowed while there are names, whatever they are", () => {
  expect(domains("1.2.3.4", "4").has("1.2.3.4")).toBe(false);
  expect(domains("0.0.127").has("0x7f.0.0.127")).toBe(true);
});

test("without names every host is allowed", () => {
  const made = domains();
  expect([made.isRestricted, made.has("any.test"), made.has("1.2.3.4")]).toEqual([
    false,
    true,
    true,
  ]);
  made.replace(["good.test"]);
  expect([made.isRestricted, made.has("any.test")]).toEqual([true, false]);
  made.replace([]);
  expect(made.has("any.test")).toBe(true);
});

test("a host of many labels among a thousand names", () => {
  const made = domains(...Array.from({ length: 1_000 }, (_, at) => `n${at}.test`));
  expect(made.has(`${"a.".repeat(64)}n999.test`)).toBe(true);
  expect(made.has(`${"a.".repeat(64)}n1000.test`)).toBe(false);
});
