import type { ProxyCountry, ProxyTier } from "@svc/contract/browser/proxy.ts";
import type { ExitOffer, ExitTrait, ExitWish } from "@svc/contract/host-protocol/exits.ts";
import type { ExitValues, Template } from "./template.ts";

/** A configured source of exits of one tier. */
export interface Provider {
  template: Template;
  offer: ExitOffer;
}

/** Longest minutes that a session can ask for: what has no name of its own stays as long as a provider lets it. */
const LONGEST_MINUTES = 30;
const WORD_LENGTH = 64;

export function newProvider(
  tier: ProxyTier,
  template: Template,
  countries: ProxyCountry[],
): Provider {
  const traits: ExitTrait[] = (["state", "city", "asn"] as const).filter((name) =>
    template.takes(name),
  );
  // The address of a static exit stays by itself.
  if (template.takes("session") || tier === "static") traits.push("sticky");
  return { template, offer: { tier, countries, traits } };
}

/** The values for the URL of a provider; null when a wish is no word for a URL. `session`: of this exit alone, or of its name. */
export function valuesFor(
  wish: ExitWish,
  country: ProxyCountry,
  session: string,
): ExitValues | null {
  const values: ExitValues = {
    country,
    session,
    minutes: String(Math.ceil(wish.sticky?.minutes ?? LONGEST_MINUTES)),
  };
  for (const name of ["state", "city", "asn"] as const) {
    const wished = wish[name];
    if (wished === null) continue;
    const word = name === "asn" ? numberIn(wished) : wordOf(wished);
    if (word === null) return null;
    values[name] = word;
  }
  return values;
}

/** `New York` as `new_york`. Other signs could say something else to a provider. */
export function wordOf(text: string): string | null {
  if (text.length > WORD_LENGTH) return null;
  const word = text
    .normalize("NFKD")
    .toLowerCase()
    .replace(/\p{Mark}/gu, "")
    .replace(/[^a-z0-9]+/g, "_")
    .replace(/^_+|_+$/g, "");
  return word === "" ? null : word;
}

/** `AS7922` as `7922`. */
const numberIn = (text: string): string | null =>
  /^\s*(?:AS)?(\d{1,10})\s*$/i.exec(text)?.[1] ?? null;
