import { availableParallelism } from "node:os";
import type { JsonObject } from "../cdp/envelope.ts";
import type { Identity } from "./identity.ts";

/** Computers with fewer processors are rare, other than servers that are shared. */
const FEW = 4;
const USUAL = 8;

/** How many processors pages are told of: as many as there are, where that is no mark by itself. */
export function seemingProcessors(): number {
  const real = availableParallelism();
  return real < FEW ? USUAL : real;
}

/** Where a session seems to be, as its proxy has it. */
export interface Whereabouts {
  /** As `Europe/Berlin`. */
  timezone?: string;
  /** As `de-DE`. */
  locale?: string;
}

type Override = readonly [method: string, params: JsonObject];

const OVERRIDDEN: ReadonlySet<string> = new Set([
  "page",
  "iframe",
  "worker",
  "shared_worker",
  "service_worker",
]);

/** The calls that make a target of this type tell what the session is to seem. */
export function overridesFor(
  type: string,
  identity: Identity,
  { timezone, locale }: Whereabouts,
): Override[] {
  if (!OVERRIDDEN.has(type)) return [];
  const overrides: Override[] = [];
  const processors = seemingProcessors();
  if (processors !== availableParallelism())
    overrides.push([
      "Emulation.setHardwareConcurrencyOverride",
      { hardwareConcurrency: processors },
    ]);
  if (timezone !== undefined)
    overrides.push(["Emulation.setTimezoneOverride", { timezoneId: timezone }]);
  if (locale === undefined) return overrides;
  const agent = { ...identity, acceptLanguage: languagesOf(locale) };
  return [
    ...overrides,
    ["Emulation.setUserAgentOverride", agent],
    ["Emulation.setLocaleOverride", { locale }],
  ];
}

/** The languages of a browser of this locale: its own, the same without a country, English. Without weights: Chromium adds those. */
export function languagesOf(locale: string): string {
  const [language = locale] = locale.split("-");
  return [...new Set([locale, language, "en-US", "en"])].join();
}
