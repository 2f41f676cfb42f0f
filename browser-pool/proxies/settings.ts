import {
  PROXY_COUNTRIES,
  PROXY_TIERS,
  ProxyCountry,
  type ProxyTier,
} from "@svc/contract/browser/proxy.ts";
import { optionalSetting, setting } from "@svc/host-kit/settings.ts";
import * as z from "zod";
import { type Provider, newProvider } from "./providers.ts";
import { Template } from "./template.ts";

/** A custom error names what is wrong: a URL with a password is never shown. */
const template = z.string().transform((text, issues): Template => {
  try {
    return new Template(text);
  } catch (error) {
    issues.addIssue({ code: "custom", message: error instanceof Error ? error.message : "" });
    return z.NEVER;
  }
});

const countryList = z.string().transform((text, issues): ProxyCountry[] => {
  const names = text
    .toLowerCase()
    .split(/[\s,]+/)
    .filter(Boolean);
  const read = z.array(ProxyCountry).min(1).safeParse(names);
  if (read.success) return PROXY_COUNTRIES.filter((one) => read.data.includes(one));
  issues.addIssue({ code: "custom", message: `write some of ${PROXY_COUNTRIES.join(",")}` });
  return z.NEVER;
});

const NAMES = {
  residential: { url: "SVC_PROXY_RESIDENTIAL_URL", countries: "SVC_PROXY_RESIDENTIAL_COUNTRIES" },
  mobile: { url: "SVC_PROXY_MOBILE_URL", countries: "SVC_PROXY_MOBILE_COUNTRIES" },
  static: { url: "SVC_PROXY_STATIC_URL", countries: "SVC_PROXY_STATIC_COUNTRIES" },
} as const satisfies Record<ProxyTier, object>;

const urlOf = (tier: ProxyTier) =>
  optionalSetting({
    name: NAMES[tier].url,
    defaultMeaning: "no such exits",
    meaning: `The URL of the provider of ${tier} exits: http, https or socks5, with {country}, {session} and {minutes}, and in brackets [-state-{state}], [-city-{city}], [-asn-{asn}].`,
    schema: template,
  });

const countriesOf = (tier: ProxyTier) =>
  optionalSetting({
    name: NAMES[tier].countries,
    defaultMeaning: "all 15",
    meaning: `The countries that the provider of ${tier} exits has, as \`de,us\`. A URL without {country} needs exactly one.`,
    schema: countryList,
  });

/** The environment variables of the managed proxy. */
export const PROXY_SETTINGS = {
  residentialUrl: urlOf("residential"),
  residentialCountries: countriesOf("residential"),
  mobileUrl: urlOf("mobile"),
  mobileCountries: countriesOf("mobile"),
  staticUrl: urlOf("static"),
  staticCountries: countriesOf("static"),
  proxyCheck: setting({
    name: "SVC_PROXY_CHECK",
    default: "example.com:443",
    meaning: "The `host:port` that an exit must reach at a create before a session leaves by it.",
    schema: z.string().transform((text, issues) => {
      const [, host, port] = /^([\w.-]+|\[[\da-fA-F:.]+\]):(\d{1,5})$/.exec(text.trim()) ?? [];
      if (host && port) return { host: host.replace(/^\[|\]$/g, ""), port: Number(port) };
      issues.addIssue({ code: "custom", message: "write host:port" });
      return z.NEVER;
    }),
  }),
};

type Values = {
  [Key in keyof typeof PROXY_SETTINGS]: ReturnType<(typeof PROXY_SETTINGS)[Key]["read"]>;
};

/** The providers that are configured. Throws when a URL and its countries disagree. */
export function providersOf(values: Values): Provider[] {
  return PROXY_TIERS.flatMap((tier) => {
    const url = values[`${tier}Url`];
    const countries = values[`${tier}Countries`] ?? [...PROXY_COUNTRIES];
    if (!url) return [];
    if (!url.takes("country") && countries.length > 1)
      throw new Error(
        `${NAMES[tier].url} has no {country}: name its one country in ${NAMES[tier].countries}.`,
      );
    return [newProvider(tier, url, countries)];
  });
}
