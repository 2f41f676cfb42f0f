import { Hostnames, normaliseHostname } from "@svc/contract/browser/domains.ts";
import { Proxy } from "@svc/contract/browser/proxy.ts";
import { describe, expect, test } from "vitest";

const exit = {
  mode: "exit",
  country: null,
  tier: null,
  sticky: null,
  state: null,
  city: null,
  asn: null,
};

describe("proxy", () => {
  test.each<[unknown, unknown]>([
    [undefined, { mode: "off" }],
    [null, { mode: "off" }],
    ["off", { mode: "off" }],
    ["smart", { mode: "smart" }],
    ["jp", { ...exit, country: "jp" }],
    [{}, exit],
    [{ colour: "red" }, exit],
    [
      { country: "us", tier: "mobile" },
      { ...exit, country: "us", tier: "mobile" },
    ],
    [{ tier: "isp" }, { ...exit, tier: "static" }],
    [{ static: true }, { ...exit, tier: "static" }],
    [{ static: "yes" }, exit],
    [
      { static: true, tier: "mobile" },
      { ...exit, tier: "mobile" },
    ],
    [{ session: "a-1" }, { ...exit, sticky: { session: "a-1", minutes: 10 } }],
    [
      { session: "a", sessionDuration: 30 },
      { ...exit, sticky: { session: "a", minutes: 30 } },
    ],
    [{ session: 5, state: 1, city: [], asn: {} }, exit],
    [
      { country: "de", state: 7 },
      { ...exit, country: "de" },
    ],
    [
      { state: "ny", city: "nyc" },
      { ...exit, country: "us", state: "ny", city: "nyc" },
    ],
    [
      { country: "us", state: "ny" },
      { ...exit, country: "us", state: "ny" },
    ],
    [
      { country: "de", asn: "AS1" },
      { ...exit, country: "de", asn: "AS1" },
    ],
  ])("%j is %j", (value, wish) => expect(Proxy.parse(value)).toEqual(wish));

  test.each<[unknown, string]>([
    ["US", ""],
    ["zz", ""],
    ["", ""],
    [true, ""],
    [7, ""],
    [["us"], ""],
    [{ country: "US" }, "country"],
    [{ country: "zz" }, "country"],
    [{ country: 5 }, "country"],
    [{ tier: "gold" }, "tier"],
    [{ session: "" }, "session"],
    [{ session: "a_b" }, "session"],
    [{ session: "x".repeat(33) }, "session"],
    [{ sessionDuration: 0 }, "sessionDuration"],
    [{ sessionDuration: 31 }, "sessionDuration"],
    [{ sessionDuration: "5" }, "sessionDuration"],
    [{ country: "de", state: "by" }, "state"],
    [{ country: "gb", city: "london" }, "city"],
  ])("%j is refused at %o", (value, field) => {
    const result = Proxy.safeParse(value);
    expect(result.success).toBe(false);
    expect(result.error?.issues[0]?.path.join(".")).toBe(field);
  });
});

describe("hostnames", () => {
  test.each([
    ["Example.COM", "example.com"],
    ["example.com.", "example.com"],
    ["localhost", "localhost"],
    ["bücher.example", "xn--bcher-kva.example"],
    ["xn--bcher-kva.example", "xn--bcher-kva.example"],
    ["a-b.c1", "a-b.c1"],
  ])("%o is %o", (text, hostname) => expect(normaliseHostname(text)).toBe(hostname));

  test.each([
    "",
    ".",
    "*.example.com",
    "https://example.com",
    "example.com:443",
    "example.com/path",
    "exa mple.com",
    "user@example.com",
    "-a.com",
    "a-.com",
    "a..b",
    "[::1]",
    "a_b.com",
    `${"a".repeat(64)}.com`,
    `${"a.".repeat(130)}com`,
    "93.184.215.14",
    "127.1",
    "2130706433",
    "0x7f000001",
    "0x7f.1",
    "a.0x",
    "a.1.",
    "１２７.０.０.１",
  ])("%o is no bare hostname", (text) => expect(normaliseHostname(text)).toBeNull());

  test("a list loses its repeats, however they were spelled", () => {
    expect(Hostnames.parse(["A.com", "b.com", "a.com."])).toEqual(["a.com", "b.com"]);
  });
});
