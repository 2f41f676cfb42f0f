import { describe, expect, test } from "vitest";
import { Template } from "../../../browser-pool/proxies/template.ts";

const values = { country: "us", session: "s1", minutes: "10" };

describe("a provider's URL", () => {
  test.each([
    [
      "http://me-cc-{country}-sid-{session}-ttl-{minutes}:pw@gate.example:8000",
      { scheme: "http", host: "gate.example", port: 8000, name: "me-cc-us-sid-s1-ttl-10" },
    ],
    [
      "socks5://me[-st-{state}][-city-{city}]-{session}:pw@{country}.example",
      { scheme: "socks5", host: "us.example", port: 1080, name: "me-s1" },
    ],
    ["socks5h://me:pw@[::1]:9", { scheme: "socks5", host: "::1", port: 9, name: "me" }],
    [
      "HTTPS://me:pw@gate.example",
      { scheme: "https", host: "gate.example", port: 443, name: "me" },
    ],
    [
      "http://a%40b:pw@gate.example/",
      { scheme: "http", host: "gate.example", port: 80, name: "a@b" },
    ],
  ])("%s is filled in", (text, { name, ...where }) => {
    const filled = new Template(text).fill(values);
    expect(filled).toEqual({ ...where, credentials: { name, password: "pw" } });
  });

  test("without credentials asks for none", () => {
    expect(new Template("http://gate.example:1").fill(values).credentials).toBeNull();
  });

  test("has what is in brackets where it is wished", () => {
    const template = new Template("http://me[-st-{state}][-asn-{asn}]-x:pw@gate.example");
    const nameWith = (more: object) => template.fill({ ...values, ...more }).credentials?.name;
    expect(nameWith({})).toBe("me-x");
    expect(nameWith({ state: "ca" })).toBe("me-st-ca-x");
    expect(nameWith({ state: "ca", asn: "7" })).toBe("me-st-ca-asn-7-x");
    expect(["state", "asn", "city"].map((name) => template.takes(name as "state"))).toEqual([
      true,
      true,
      false,
    ]);
  });

  test("keeps a value in its place, whatever it holds", () => {
    const filled = new Template("http://me[-{city}]:pw@gate.example").fill({
      ...values,
      city: "a:b@evil.example/{session}",
    });
    expect(filled.host).toBe("gate.example");
    expect(filled.credentials).toEqual({ name: "me-a:b@evil.example/{session}", password: "pw" });
  });

  test.each([
    ["ftp://me:secret@gate.example", "http, https or socks5"],
    ["gate.example:80", "http, https or socks5"],
    ["http://", "http, https or socks5"],
    ["http://me:secret@gate.example:port", "http, https or socks5"],
    ["http://me-{town}:secret@gate.example", "{town} is none of"],
    ["http://me-{state}:secret@gate.example", "[-state-{state}]"],
    ["http://me%zz:secret@gate.example", "URI malformed"],
  ])("%s is refused without telling its password", (text, why) => {
    const read = () => new Template(text);
    expect(read).toThrow(why);
    expect(read).toThrow(/^(?![\s\S]*secret)/);
  });
});
