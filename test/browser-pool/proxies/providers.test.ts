import { PROXY_COUNTRIES } from "@svc/contract/browser/proxy.ts";
import { type ExitWish, servedBy } from "@svc/contract/host-protocol/exits.ts";
import { readSettings } from "@svc/host-kit/settings.ts";
import { describe, expect, test } from "vitest";
import { placeOf } from "../../../browser-pool/proxies/places.ts";
import { valuesFor, wordOf } from "../../../browser-pool/proxies/providers.ts";
import { PROXY_SETTINGS, providersOf } from "../../../browser-pool/proxies/settings.ts";

const NONE: ExitWish = {
  country: null,
  tier: null,
  sticky: null,
  state: null,
  city: null,
  asn: null,
};
const offersOf = (env: Record<string, string>) =>
  providersOf(readSettings(PROXY_SETTINGS, env)).map(({ offer }) => offer);
const FULL = "http://{country}[-{state}][-{city}][-{asn}]-{session}:pw@gate.example";
const URLS = {
  SVC_PROXY_RESIDENTIAL_URL: FULL,
  SVC_PROXY_MOBILE_URL: "http://{country}:pw@gate.example",
  SVC_PROXY_STATIC_URL: "socks5://gate.example",
  SVC_PROXY_STATIC_COUNTRIES: "de",
};

describe("the environment", () => {
  test("without URLs offers nothing", () => expect(offersOf({})).toEqual([]));

  test("says which countries and wishes each tier serves", () => {
    expect(offersOf(URLS)).toEqual([
      {
        tier: "residential",
        countries: [...PROXY_COUNTRIES],
        traits: ["state", "city", "asn", "sticky"],
      },
      { tier: "mobile", countries: [...PROXY_COUNTRIES], traits: [] },
      { tier: "static", countries: ["de"], traits: ["sticky"] },
    ]);
    const some = { ...URLS, SVC_PROXY_MOBILE_COUNTRIES: " US, br " };
    expect(offersOf(some)[1]?.countries).toEqual(["br", "us"]);
  });

  test.each([
    [{ SVC_PROXY_MOBILE_URL: "gopher://x:secret@y" }, "SVC_PROXY_MOBILE_URL: write http"],
    [{ SVC_PROXY_STATIC_URL: "http://x:secret@y" }, "SVC_PROXY_STATIC_COUNTRIES"],
    [{ ...URLS, SVC_PROXY_MOBILE_COUNTRIES: "us,zz" }, "SVC_PROXY_MOBILE_COUNTRIES: write some of"],
    [{ SVC_PROXY_CHECK: "example.com" }, "SVC_PROXY_CHECK: write host:port"],
  ])("%j is refused with the name of the variable and no secret", (env, why) => {
    expect(() => offersOf(env)).toThrow(why);
    expect(() => offersOf(env)).toThrow(/^(?![\s\S]*secret)/);
  });
});

describe("a wish", () => {
  const offers = offersOf(URLS);
  test.each<[Partial<ExitWish>, string | null]>([
    [{}, "residential us"],
    [{ country: "jp" }, "residential jp"],
    [{ tier: "mobile" }, "mobile us"],
    [{ tier: "mobile", asn: "7" }, null],
    [{ tier: "mobile", sticky: { session: "a", minutes: 1 } }, null],
    [{ tier: "static" }, "static de"],
    [{ tier: "static", country: "us" }, null],
    [{ tier: "static", sticky: { session: "a", minutes: 1 } }, "static de"],
    [{ country: "us", state: "ca", city: "x", asn: "7" }, "residential us"],
  ])("of %j is served by %s", (wish, served) => {
    const found = servedBy(offers, { ...NONE, ...wish });
    expect(found && `${found.tier} ${found.country}`).toBe(served);
  });

  test("of no tier is served by the first tier that can", () => {
    const [, mobile, fixed] = offers;
    if (!mobile || !fixed) throw new Error("no offers");
    expect(servedBy([fixed, mobile], NONE)).toEqual({ tier: "mobile", country: "us" });
    expect(servedBy([fixed], NONE)).toEqual({ tier: "static", country: "de" });
    expect(servedBy([fixed, mobile], { ...NONE, sticky: { session: "a", minutes: 1 } })).toEqual({
      tier: "static",
      country: "de",
    });
    expect(servedBy([], NONE)).toBeNull();
  });

  test.each([
    ["New York", "new_york"],
    ["são paulo", "sao_paulo"],
    ["a-country-de-session-x", "a_country_de_session_x"],
    ["--", null],
    ["x".repeat(65), null],
  ])("for %s is the word %s to a provider", (text, word) => expect(wordOf(text)).toBe(word));

  test.each([
    ["AS7922", "7922"],
    ["7922", "7922"],
    ["7922-session-x", null],
    ["", null],
  ])("for the network %s is %s", (asn, number) => {
    expect(valuesFor({ ...NONE, asn }, "us", "s")?.asn ?? null).toBe(number);
  });
});

describe("the place of an exit", () => {
  test.each(PROXY_COUNTRIES)("in %s is a time zone and a locale that browsers know", (country) => {
    const { timezone, locale } = placeOf(country, null);
    const { timeZone, locale: known } = new Intl.DateTimeFormat(locale, {
      timeZone: timezone,
    }).resolvedOptions();
    expect([timezone.replace("Kolkata", "Calcutta"), timezone]).toContain(timeZone);
    expect(known).toBe(locale);
    expect(locale.toLowerCase()).toMatch(new RegExp(`-${country}$`));
  });

  test.each([
    ["ca", "America/Los_Angeles"],
    ["california", "America/Los_Angeles"],
    ["new_york", "America/New_York"],
    ["tx", "America/Chicago"],
    ["atlantis", "America/New_York"],
  ])("in the state %s has the time of %s", (state, timezone) => {
    expect(placeOf("us", state)).toEqual({ timezone, locale: "en-US" });
    expect(placeOf("de", state).timezone).toBe("Europe/Berlin");
  });
});
