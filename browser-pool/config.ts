import { totalmem } from "node:os";
import { LIMITS } from "@svc/contract/limits.ts";
import { count, hostSettings } from "@svc/host-kit/host-settings.ts";
import { optionalSetting, readSettings, setting } from "@svc/host-kit/settings.ts";
import * as z from "zod";

const MIB = 1024 * 1024;
const SLOT_SHARE_BYTES = 300 * MIB;
const MOST_SLOTS = 64;

const slots = count.max(1000);

/** The environment variables of a browser pool. */
export const POOL_SETTINGS = {
  ...hostSettings({ id: "pool-local", listen: "SVC_POOL_LISTEN", url: "SVC_POOL_URL" }),
  warm: setting({
    name: "SVC_WARM_FAST",
    default: "2",
    unit: "browsers",
    meaning: "How many warm browsers the pool keeps, at most SVC_MAX_FAST.",
    schema: slots,
  }),
  maxSlots: setting({
    name: "SVC_MAX_FAST",
    default: String(slotsInMemory(totalmem())),
    defaultMeaning: "as many as fit into 80 % of the memory at 300 MiB each, 2 to 64",
    unit: "browsers",
    meaning: "How many browsers the pool runs at most.",
    schema: slots.min(1),
  }),
  chromium: optionalSetting({
    name: "SVC_CHROMIUM",
    defaultMeaning: "found in PATH",
    meaning: "The path of the Chromium program.",
    schema: z.string(),
  }),
};

/** How many browsers fit: eight tenths of the memory, at 300 MiB each. */
function slotsInMemory(bytes: number): number {
  return Math.min(MOST_SLOTS, Math.max(2, Math.floor((bytes * 0.8) / SLOT_SHARE_BYTES)));
}

/** The configuration of a pool process, from its environment. */
export function readConfig(environment: NodeJS.ProcessEnv) {
  const settings = readSettings(POOL_SETTINGS, environment);
  return {
    ...settings,
    warm: Math.min(settings.warm, settings.maxSlots),
    orphanGraceMs: LIMITS.orphanGraceMs as number,
  };
}

export type PoolConfig = ReturnType<typeof readConfig>;
