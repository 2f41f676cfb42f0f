import { availableParallelism, homedir, totalmem } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { HostId } from "@svc/contract/host-protocol/heartbeat.ts";
import { STOP_MS } from "@svc/host-kit/lifetime.ts";
import * as z from "zod";

const MIB = 1024 * 1024;
const MOST_VMS = 64;
/** How many virtual processors share a real one. */
const CPU_SHARE = 16;

// An empty variable is an unset one.
const unset = (value: unknown): unknown => (value === "" ? undefined : value);
const count = z.coerce.number().int().min(0);
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
  SVC_HOST_ID: z.preprocess(unset, HostId.default("vm-local")),
  SVC_WARM_VM: z.preprocess(unset, count.max(MOST_VMS).default(1)),
  SVC_MAX_VM: z.preprocess(unset, count.min(1).default(MOST_VMS)),
  SVC_VM_MEMORY_MB: z.preprocess(unset, count.default(Math.floor(totalmem() / MIB))),
  SVC_TEMPLATE_DISK_MB: z.preprocess(unset, count.default(6 * 1024)),
  SVC_LAYER_DISK_MB: z.preprocess(unset, count.default(4 * 1024)),
  SVC_AGENT_DIR: z.preprocess(
    unset,
    z.string().default(fileURLToPath(new URL("../dist/guest-agent", import.meta.url))),
  ),
  SVC_BUILD_IMAGES: z.preprocess(unset, z.enum(["0", "1"]).default("1")),
  SVC_EGRESS_ALLOW: z.string().default("").transform(readAllowance),
  SVC_VM_SAVE: z.preprocess(unset, z.enum(["delta", "stream"]).optional()),
  SVC_VOLUME_SYNC_MS: z.preprocess(unset, count.min(100).default(60_000)),
  SVC_SHIP_DELAY_MS: z.preprocess(unset, count.default(2_000)),
  SVC_STOP_MS: z.preprocess(unset, count.min(2_000).default(STOP_MS)),
  SVC_VM_LISTEN: z.preprocess(unset, listen.default({ host: "127.0.0.1", port: 0 })),
  SVC_VM_URL: z.preprocess(unset, z.url({ protocol: /^https?$/ }).optional()),
  SVC_LOG_LEVEL: z.preprocess(unset, z.string().default("info")),
});

/** A pair of SVC_EGRESS_ALLOW. */
export interface AllowedTarget {
  host: string;
  port: number;
}

/** `host:port, host:port` as a list. Throws on an entry that is no exact pair. */
export function readAllowance(text: string): AllowedTarget[] {
  const entries = text.split(/[\s,]+/).filter((entry) => entry.length > 0);
  return entries.map((entry) => {
    const [, host, port] = /^(\[[^\]]+\]|[^:]+):(\d{1,5})$/.exec(entry) ?? [];
    if (!host || !port) throw new Error(`SVC_EGRESS_ALLOW: ${entry} is not host:port`);
    return { host: host.replace(/^\[|\]$/g, "").toLowerCase(), port: Number(port) };
  });
}

/** Where images and templates are kept: SVC_CACHE_DIR, else the cache folder of the user. */
export function cacheDirOf(environment: NodeJS.ProcessEnv): string {
  if (environment.SVC_CACHE_DIR) return resolve(environment.SVC_CACHE_DIR);
  // Root's own folders are closed to the users that machines run as.
  if (process.getuid?.() === 0) return "/var/cache/svc";
  return join(environment.XDG_CACHE_HOME || join(homedir(), ".cache"), "svc");
}

/** What a VM host process is told at its start. */
export function readConfig(environment: NodeJS.ProcessEnv) {
  const env = Environment.parse(environment);
  return {
    gatewayUrl: env.SVC_GATEWAY_URL,
    hostToken: env.SVC_HOST_TOKEN,
    stateDir: env.SVC_STATE_DIR,
    cacheDir: cacheDirOf(environment),
    hostId: env.SVC_HOST_ID,
    warm: env.SVC_WARM_VM,
    room: {
      cpu: availableParallelism() * CPU_SHARE,
      memMb: env.SVC_VM_MEMORY_MB,
      slots: env.SVC_MAX_VM,
    },
    templateBytes: env.SVC_TEMPLATE_DISK_MB * MIB,
    layerBytes: env.SVC_LAYER_DISK_MB * MIB,
    agentDir: env.SVC_AGENT_DIR,
    mayBuild: env.SVC_BUILD_IMAGES === "1",
    egressAllow: env.SVC_EGRESS_ALLOW,
    saveMode: env.SVC_VM_SAVE ?? null,
    volumeSyncMs: env.SVC_VOLUME_SYNC_MS,
    /** How old a record is when it is stored: a machine that is resumed at once is not worth the work. */
    shipDelayMs: env.SVC_SHIP_DELAY_MS,
    /** Its machines are paused meanwhile, as many as that allows. */
    stopMs: env.SVC_STOP_MS,
    listen: env.SVC_VM_LISTEN,
    publicUrl: env.SVC_VM_URL ?? null,
    logLevel: env.SVC_LOG_LEVEL,
  };
}

export type VmHostConfig = ReturnType<typeof readConfig>;
