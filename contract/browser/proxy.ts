import { anything } from "../open-map.ts";
import * as z from "zod";

/** Countries of the managed proxy (document 1, Proxy object fields). */
export const PROXY_COUNTRIES = [
  "au",
  "br",
  "ca",
  "de",
  "es",
  "fr",
  "gb",
  "in",
  "it",
  "jp",
  "kr",
  "mx",
  "nl",
  "sg",
  "us",
] as const;
/** A country of the managed proxy. */
export const ProxyCountry = z.enum(PROXY_COUNTRIES, { error: "unsupported country" });
export type ProxyCountry = z.infer<typeof ProxyCountry>;

/** The tiers of the managed proxy (document 1, Proxy object fields). */
export const PROXY_TIERS = ["residential", "mobile", "static"] as const;
/** A tier of the managed proxy. */
export type ProxyTier = (typeof PROXY_TIERS)[number];

/** `isp` is a deprecated alias of `static`: replaced here, so that nothing behind this schema knows it. */
const Tier = z
  .enum([...PROXY_TIERS, "isp"], { error: "invalid tier" })
  .transform((tier): ProxyTier => (tier === "isp" ? "static" : tier));

// A value that is no string is dropped in silence (document 1).
const dropped = z.string().optional().catch(undefined);

const StickySession = dropped.refine(
  (session) => session === undefined || /^[0-9A-Za-z-]{1,32}$/.test(session),
  { error: "letters, digits and dashes, at most 32" },
);

const ProxyObject = z
  .object({
    country: ProxyCountry.optional(),
    tier: Tier.optional(),
    static: z.unknown().optional(),
    session: StickySession,
    /** Minutes. */
    sessionDuration: z.number({ error: "a number from 1 to 30" }).min(1).max(30).optional(),
    state: dropped,
    city: dropped,
    asn: dropped,
  })
  .superRefine(({ country, state, city }, issues) => {
    if (country === undefined || country === "us") return;
    const field = [state !== undefined && "state", city !== undefined && "city"].find(Boolean);
    if (field) issues.addIssue({ code: "custom", path: [field], message: "US only" });
  });

/** The wanted exit of the managed proxy: none, the ladder of tiers, or one exit. */
export type ProxyWish =
  | { mode: "off" }
  | { mode: "smart" }
  | {
      mode: "exit";
      country: ProxyCountry | null;
      tier: ProxyTier | null;
      /** Pins the exit address for so many minutes. */
      sticky: { session: string; minutes: number } | null;
      state: string | null;
      city: string | null;
      asn: string | null;
    };

const OFF: ProxyWish = { mode: "off" };
const anywhere = { tier: null, sticky: null, state: null, city: null, asn: null };

/** `off`, `smart` or a country. */
const ProxyWord = z
  .enum(["off", "smart", ...PROXY_COUNTRIES], { error: "off, smart or a supported country" })
  .transform((word): ProxyWish => {
    if (word === "off" || word === "smart") return { mode: word };
    return { mode: "exit", country: word, ...anywhere };
  });

const stickyMinutes = 10;

const ProxyExit = ProxyObject.transform((wish): ProxyWish => {
  const { country, tier, session, sessionDuration, state, city, asn } = wish;
  // Narrowing below a country exists in the US alone, so it says which country.
  const narrowed = state !== undefined || city !== undefined;
  return {
    mode: "exit",
    country: country ?? (narrowed ? "us" : null),
    tier: tier ?? (wish.static === true ? "static" : null),
    sticky: session === undefined ? null : { session, minutes: sessionDuration ?? stickyMinutes },
    state: state ?? null,
    city: city ?? null,
    asn: asn ?? null,
  };
});

/** An exit of the managed proxy as clients write it. Deprecated spellings are accepted, and offered to nobody. */
export interface ProxyExitSent {
  country?: ProxyCountry;
  tier?: ProxyTier;
  /** Pins the exit address: letters, digits and dashes, at most 32. */
  session?: string;
  /** Minutes, 1 to 30. */
  sessionDuration?: number;
  /** A state of the US; `city` too is of the US only. */
  state?: string;
  city?: string;
  asn?: string;
}

/** The `proxy` field of POST /sessions (document 1, Session create request and Proxy object fields). */
export const Proxy = anything<"off" | "smart" | ProxyCountry | ProxyExitSent | null>()
  .optional()
  .transform((value, issues): ProxyWish => {
    if (value === undefined || value === null) return OFF;
    const schema = typeof value === "object" ? ProxyExit : ProxyWord;
    const parsed = schema.safeParse(value);
    if (parsed.success) return parsed.data;
    for (const { path, message } of parsed.error.issues) {
      issues.addIssue({ code: "custom", path, message });
    }
    return OFF;
  })
  .meta({
    description: "Managed proxy egress. Anything but off requires stealth.",
    anyOf: [
      { enum: ["off", "smart", ...PROXY_COUNTRIES] },
      {
        type: "object",
        properties: {
          country: { enum: PROXY_COUNTRIES },
          tier: { enum: [...PROXY_TIERS, "isp"] },
          session: { type: "string", pattern: "^[0-9A-Za-z-]{1,32}$" },
          sessionDuration: { type: "number", minimum: 1, maximum: 30, default: stickyMinutes },
          state: { type: "string" },
          city: { type: "string" },
          asn: { type: "string" },
        },
      },
      { type: "null" },
    ],
  });

/** The `proxy` field of the 201: present only when a proxy was applied. */
export const ProxyApplied = z.object({
  timezoneId: z.string(),
  country: z.string(),
  tier: z.enum(PROXY_TIERS),
});
export type ProxyApplied = z.infer<typeof ProxyApplied>;

const countries = z.array(ProxyCountry);

/** 200 of GET /proxy/countries. `tiers` lists pairs that can be served, not what is free at the moment. */
export const ProxyCountries = z.object({
  enabled: z.boolean(),
  countries,
  tiers: z.object({ residential: countries, mobile: countries, static: countries }),
});
export type ProxyCountries = z.infer<typeof ProxyCountries>;
