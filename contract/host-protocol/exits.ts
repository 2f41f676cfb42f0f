import * as z from "zod";
import { PROXY_TIERS, ProxyApplied, ProxyCountry, type ProxyTier } from "../browser/proxy.ts";
import { LIMITS } from "../limits.ts";

/** Wishes beside tier and country that an exit can meet: a part of the country, a network, an address that stays. */
export const EXIT_TRAITS = ["state", "city", "asn", "sticky"] as const;
/** A wish beside tier and country. */
export type ExitTrait = (typeof EXIT_TRAITS)[number];

const narrowing = z.string().max(LIMITS.requestBodyBytes).nullable();

/** PUT /slots/:sessionId, `proxy`: the exit of the managed proxy that a session wishes. Null: no wish. */
export const ExitWish = z.strictObject({
  country: ProxyCountry.nullable(),
  tier: z.enum(PROXY_TIERS).nullable(),
  /** Sessions of an org with the same name leave by the same address for so many minutes. */
  sticky: z.strictObject({ session: z.string().max(32), minutes: z.number() }).nullable(),
  state: narrowing,
  city: narrowing,
  asn: narrowing,
});
export type ExitWish = z.infer<typeof ExitWish>;

/** A wish of nothing in particular. */
export const ANY_EXIT: ExitWish = {
  country: null,
  tier: null,
  sticky: null,
  state: null,
  city: null,
  asn: null,
};

/** The way out that a session wishes: an exit, or the ladder, which begins at the host's own address. */
export const WayWish = z.union([z.literal("smart"), ExitWish]);
export type WayWish = z.infer<typeof WayWish>;

/** The exits of the ladder, from below. */
export const LADDER = ["mobile", "residential"] as const satisfies ProxyTier[];

/** A rung that a session has climbed to, and why. */
export const Rung = ProxyApplied.extend({
  /** What kept it from a page by the way before. */
  reason: z.string().max(200),
  /** Milliseconds since the epoch. */
  at: z.number(),
});
export type Rung = z.infer<typeof Rung>;

/** A tier that a pool is configured for. Nothing says that its provider answers at the moment. */
export const ExitOffer = z.object({
  tier: z.enum(PROXY_TIERS),
  countries: z.array(ProxyCountry).max(100),
  traits: z.array(z.enum(EXIT_TRAITS)).max(EXIT_TRAITS.length),
});
export type ExitOffer = z.infer<typeof ExitOffer>;

/** The tier and the country that serve a wish. */
export interface ServedExit {
  tier: ProxyTier;
  country: ProxyCountry;
}

const DEFAULT_COUNTRY: ProxyCountry = "us";

/** What of these offers serves a wish: of several the first in the order of `PROXY_TIERS`; null when none does. */
export function servedBy(offers: readonly ExitOffer[], wish: ExitWish): ServedExit | null {
  for (const tier of PROXY_TIERS) {
    if (wish.tier !== null && wish.tier !== tier) continue;
    const offer = offers.find((one) => one.tier === tier);
    const country = offer && countryOf(offer, wish);
    const isMet = (trait: ExitTrait): boolean =>
      wish[trait] === null || Boolean(offer?.traits.includes(trait));
    if (country && EXIT_TRAITS.every(isMet)) return { tier, country };
  }
  return null;
}

/** Whether these offers can serve a wish; the ladder, by one rung at least. */
export function canServe(offers: readonly ExitOffer[], wish: WayWish): boolean {
  if (wish !== "smart") return servedBy(offers, wish) !== null;
  return LADDER.some((tier) => servedBy(offers, { ...ANY_EXIT, tier }) !== null);
}

/** Where no country is wished: the usual one, or else the first that there is. */
function countryOf({ countries }: ExitOffer, { country }: ExitWish): ProxyCountry | undefined {
  if (country !== null) return countries.find((one) => one === country);
  return countries.find((one) => one === DEFAULT_COUNTRY) ?? countries[0];
}
