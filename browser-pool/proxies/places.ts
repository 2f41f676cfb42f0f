import type { ProxyCountry } from "@svc/contract/browser/proxy.ts";

/** Where an exit is, as a browser there tells it. */
export interface Place {
  /** As `Europe/Berlin`. */
  timezone: string;
  /** As `de-DE`. */
  locale: string;
}

/** The time zone of the largest city, and the language of most. */
const COUNTRIES: Record<ProxyCountry, Place> = {
  au: { timezone: "Australia/Sydney", locale: "en-AU" },
  br: { timezone: "America/Sao_Paulo", locale: "pt-BR" },
  ca: { timezone: "America/Toronto", locale: "en-CA" },
  de: { timezone: "Europe/Berlin", locale: "de-DE" },
  es: { timezone: "Europe/Madrid", locale: "es-ES" },
  fr: { timezone: "Europe/Paris", locale: "fr-FR" },
  gb: { timezone: "Europe/London", locale: "en-GB" },
  in: { timezone: "Asia/Kolkata", locale: "en-IN" },
  it: { timezone: "Europe/Rome", locale: "it-IT" },
  jp: { timezone: "Asia/Tokyo", locale: "ja-JP" },
  kr: { timezone: "Asia/Seoul", locale: "ko-KR" },
  mx: { timezone: "America/Mexico_City", locale: "es-MX" },
  nl: { timezone: "Europe/Amsterdam", locale: "nl-NL" },
  sg: { timezone: "Asia/Singapore", locale: "en-SG" },
  us: { timezone: "America/New_York", locale: "en-US" },
};

/** The states of the US, by the time zone of most of their people. */
const STATES: Record<string, string> = {
  "America/New_York":
    "ct connecticut, de delaware, dc district_of_columbia, fl florida, ga georgia, me maine, md maryland, ma massachusetts, nh new_hampshire, nj new_jersey, ny new_york, nc north_carolina, oh ohio, pa pennsylvania, ri rhode_island, sc south_carolina, vt vermont, va virginia, wv west_virginia",
  "America/Detroit": "mi michigan",
  "America/Indiana/Indianapolis": "in indiana",
  "America/Kentucky/Louisville": "ky kentucky",
  "America/Chicago":
    "al alabama, ar arkansas, il illinois, ia iowa, ks kansas, la louisiana, mn minnesota, ms mississippi, mo missouri, ne nebraska, nd north_dakota, ok oklahoma, sd south_dakota, tn tennessee, tx texas, wi wisconsin",
  "America/Denver": "co colorado, mt montana, nm new_mexico, ut utah, wy wyoming",
  "America/Boise": "id idaho",
  "America/Phoenix": "az arizona",
  "America/Los_Angeles": "ca california, nv nevada, or oregon, wa washington",
  "America/Anchorage": "ak alaska",
  "Pacific/Honolulu": "hi hawaii",
};

const ZONE_OF_STATE = new Map(
  Object.entries(STATES).flatMap(([zone, states]) =>
    states.split(/[, ]+/).map((state) => [state, zone] as const),
  ),
);

/** The place of an exit. A city does not count: no table of all cities is at hand. `state`: as `ca` or `new_york`. */
export function placeOf(country: ProxyCountry, state: string | null): Place {
  const place = COUNTRIES[country];
  const timezone = country === "us" && state !== null ? ZONE_OF_STATE.get(state) : undefined;
  return { ...place, ...(timezone !== undefined && { timezone }) };
}
