import { totalmem } from "node:os";
import { HostId } from "@svc/contract/host-protocol/heartbeat.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { readAllowance } from "@svc/host-kit/egress/allowance.ts";
import { STOP_MS } from "@svc/host-kit/lifetime.ts";
import * as z from "zod";

const MIB = 1024 * 1024;
const SLOT_SHARE_BYTES = 300 * MIB;
const MOST_SLOTS = 64;
/** How long a profile's state may take to come and to be loaded: both together less than the gateway waits for a placement. */
const PROFILE_FETCH_MS = 2_000;
const PROFILE_LOAD_MS = 7_000;

// An empty variable is an unset one.
const unset = (value: unknown): unknown => (value === "" ? undefined : value);
const count = z.coerce.number().int().min(0).max(1000);
const listen = z
  .string()
  .regex(/^(.+):(\d+)$/)
  .transform((text) => {
    const cut = text.lastIndexOf(":");
    return { host: text.slice(0, cut).replace(/^\[|\]$/g, ""), port: Number(text.slice(cut + 1)) };
  });

const Environment = z.object({
  SVC_GATEWAY_URL: z.url({ protocol: /^https?$/ }),
  SVC_HOST_TOKEN: z.string().min(1),
  SVC_STATE_DIR: z.preprocess(unset, z.string().default(".svc")),
  SVC_HOST_ID: z.preprocess(unset, HostId.default("pool-local")),
  SVC_WARM_FAST: z.preprocess(unset, count.default(2)),
  SVC_MAX_FAST: z.preprocess(unset, count.min(1).default(slotsInMemory(totalmem()))),
  SVC_CHROMIUM: z.preprocess(unset, z.string().optional()),
  SVC_EGRESS_ALLOW: z.string().default("").transform(readAllowance),
  SVC_STOP_MS: z.preprocess(unset, z.coerce.number().int().min(2_000).default(STOP_MS)),
  SVC_POOL_LISTEN: z.preprocess(unset, listen.default({ host: "127.0.0.1", port: 0 })),
  SVC_POOL_URL: z.preprocess(unset, z.url({ protocol: /^https?$/ }).optional()),
  SVC_LOG_LEVEL: z.preprocess(unset, z.string().default("info")),
});

/** How many browsers fit: eight tenths of the memory, at 300 MiB each. */
function slotsInMemory(bytes: number): number {
  return Math.min(MOST_SLOTS, Math.max(2, Math.floor((bytes * 0.8) / SLOT_SHARE_BYTES)));
}

/** What a pool process is told at its start. */
export function readConfig(environment: NodeJS.ProcessEnv) {
  const env = Environment.parse(environment);
  return {
    gatewayUrl: env.SVC_GATEWAY_URL,
    hostToken: env.SVC_HOST_TOKEN,
    stateDir: env.SVC_STATE_DIR,
    hostId: env.SVC_HOST_ID,
    warm: Math.min(env.SVC_WARM_FAST, env.SVC_MAX_FAST),
    maxSlots: env.SVC_MAX_FAST,
    chromium: env.SVC_CHROMIUM ?? null,
    egressAllow: env.SVC_EGRESS_ALLOW,
    stopMs: env.SVC_STOP_MS,
    listen: env.SVC_POOL_LISTEN,
    publicUrl: env.SVC_POOL_URL ?? null,
    logLevel: env.SVC_LOG_LEVEL,
    orphanGraceMs: LIMITS.orphanGraceMs as number,
    profileMs: { fetch: PROFILE_FETCH_MS, load: PROFILE_LOAD_MS },
  };
}

export type PoolConfig = ReturnType<typeof readConfig>;
