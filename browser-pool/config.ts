import { totalmem } from "node:os";
import type { BrowserKind } from "@svc/contract/browser/session.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { count, hostSettings } from "@svc/host-kit/host-settings.ts";
import { optionalSetting, readSettings, setting } from "@svc/host-kit/settings.ts";
import * as z from "zod";
import { CAPTCHA_LIMITS } from "./captcha/budget.ts";
import { CAPTCHA_SETTINGS, accountOf } from "./captcha/settings.ts";
import { PROXY_SETTINGS, providersOf } from "./proxies/settings.ts";
import type { ShelfSize } from "./slots/shelves.ts";

const MIB = 1024 * 1024;
/** By kind: the memory of a browser on average, and the least and most browsers of a pool without a setting. */
const SHARES = {
  fast: { bytes: 300 * MIB, least: 2, most: 64 },
  stealth: { bytes: 600 * MIB, least: 1, most: 32 },
};

const slots = count.max(1000);

/** The environment variables of a browser pool. */
export const POOL_SETTINGS = {
  ...hostSettings({ id: "pool-local", listen: "SVC_POOL_LISTEN", url: "SVC_POOL_URL" }),
  warm: setting({
    name: "SVC_WARM_FAST",
    default: "2",
    unit: "browsers",
    meaning: "How many warm browsers of kind fast the pool keeps, at most SVC_MAX_FAST.",
    schema: slots,
  }),
  warmStealth: setting({
    name: "SVC_WARM_STEALTH",
    default: "1",
    unit: "browsers",
    meaning: "How many warm browsers of kind stealth the pool keeps, at most SVC_MAX_STEALTH.",
    schema: slots,
  }),
  maxSlots: setting({
    name: "SVC_MAX_FAST",
    default: String(slotsInMemory("fast")),
    defaultMeaning: "as many as fit into 80 % of the memory at 300 MiB each, 2 to 64",
    unit: "browsers",
    meaning: "How many browsers of kind fast the pool runs at most.",
    schema: slots.min(1),
  }),
  maxStealth: setting({
    name: "SVC_MAX_STEALTH",
    default: String(slotsInMemory("stealth")),
    defaultMeaning: "as many as fit into 80 % of the memory at 600 MiB each, 1 to 32",
    unit: "browsers",
    meaning:
      "How many browsers of kind stealth the pool runs at most, beside those of kind fast. `0`: the kind is not served.",
    schema: slots,
  }),
  chromium: optionalSetting({
    name: "SVC_CHROMIUM",
    defaultMeaning: "found in PATH",
    meaning: "The path of the Chromium program, for kind fast.",
    schema: z.string(),
  }),
  chromiumStealth: optionalSetting({
    name: "SVC_CHROMIUM_STEALTH",
    defaultMeaning: "where Linux systems have it",
    meaning: "The path of a whole Chromium, for kind stealth: a headless shell has no window.",
    schema: z.string(),
  }),
  ...PROXY_SETTINGS,
  ...CAPTCHA_SETTINGS,
};

/** How many browsers of a kind fit into eight tenths of the memory. */
function slotsInMemory(kind: BrowserKind): number {
  const { bytes, least, most } = SHARES[kind];
  return Math.min(most, Math.max(least, Math.floor((totalmem() * 0.8) / bytes)));
}

/** The configuration of a pool process, from its environment. */
export function readConfig(environment: NodeJS.ProcessEnv) {
  const values = readSettings(POOL_SETTINGS, environment);
  const { warm, maxSlots, warmStealth, maxStealth, chromium, chromiumStealth, ...settings } =
    values;
  return {
    ...settings,
    shelves: { fast: sizeOf(warm, maxSlots), stealth: sizeOf(warmStealth, maxStealth) },
    chromium: { fast: chromium, stealth: chromiumStealth },
    proxies: { providers: providersOf(values), check: values.proxyCheck },
    captcha: accountOf(values),
    captchaLimits: CAPTCHA_LIMITS,
    orphanGraceMs: LIMITS.orphanGraceMs as number,
  };
}

const sizeOf = (warm: number, most: number): ShelfSize => ({ warm: Math.min(warm, most), most });

export type PoolConfig = ReturnType<typeof readConfig>;
