import { availableParallelism, homedir, totalmem } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { count, hostSettings } from "@svc/host-kit/host-settings.ts";
import { optionalSetting, readSettings, setting } from "@svc/host-kit/settings.ts";
import * as z from "zod";

const MIB = 1024 * 1024;
const MOST_VMS = 64;
/** How many virtual processors share a real one. */
const CPU_SHARE = 16;

/** The environment variables of a VM host. */
export const VM_HOST_SETTINGS = {
  ...hostSettings({ id: "vm-local", listen: "SVC_VM_LISTEN", url: "SVC_VM_URL" }),
  cacheDir: optionalSetting({
    name: "SVC_CACHE_DIR",
    defaultMeaning: "`/var/cache/svc` for root, else `svc` in $XDG_CACHE_HOME or `~/.cache`",
    meaning: "The folder of images, golden machines, disks and records of machines.",
    schema: z.string(),
  }),
  warm: setting({
    name: "SVC_WARM_VM",
    default: "1",
    unit: "machines",
    meaning: "How many warm machines the host keeps, at most 64.",
    schema: count.max(MOST_VMS),
  }),
  warmDesktops: setting({
    name: "SVC_WARM_DESKTOP",
    default: "1",
    unit: "machines",
    meaning: "How many warm desktops the host keeps, at most 64, once their image is there.",
    schema: count.max(MOST_VMS),
  }),
  maxVms: setting({
    name: "SVC_MAX_VM",
    default: String(MOST_VMS),
    unit: "machines",
    meaning: "How many machines the host runs at most.",
    schema: count.min(1),
  }),
  memoryMb: setting({
    name: "SVC_VM_MEMORY_MB",
    default: String(Math.floor(totalmem() / MIB)),
    defaultMeaning: "all memory",
    unit: "MiB",
    meaning: "How much memory all machines may have together.",
    schema: count,
  }),
  templateDiskMb: setting({
    name: "SVC_TEMPLATE_DISK_MB",
    default: String(6 * 1024),
    unit: "MiB",
    meaning: "How much disk golden machines may take.",
    schema: count,
  }),
  layerDiskMb: setting({
    name: "SVC_LAYER_DISK_MB",
    default: String(4 * 1024),
    unit: "MiB",
    meaning: "How much disk kept steps of template builds may take.",
    schema: count,
  }),
  agentDir: setting({
    name: "SVC_AGENT_DIR",
    default: fileURLToPath(new URL("../dist/guest-agent", import.meta.url)),
    defaultMeaning: "`dist/guest-agent`",
    meaning: "The folder of the bundled guest agent. `npm start` fills it.",
    schema: z.string(),
  }),
  mayBuild: setting({
    name: "SVC_BUILD_IMAGES",
    default: "1",
    meaning:
      "`0`: never build the image of machines. `1`: build a missing image in the background, which takes minutes and needs root.",
    schema: z.enum(["0", "1"]).transform((text) => text === "1"),
  }),
  saveMode: optionalSetting({
    name: "SVC_VM_SAVE",
    defaultMeaning: "`delta` where the host can, else `stream`",
    meaning: "How the memory of a pausing machine is saved.",
    schema: z.enum(["delta", "stream"]),
  }),
  volumeSyncMs: setting({
    name: "SVC_VOLUME_SYNC_MS",
    default: "60000",
    unit: "ms",
    meaning: "How often a mounted volume is stored. At least 100.",
    schema: count.min(100),
  }),
  shipDelayMs: setting({
    name: "SVC_SHIP_DELAY_MS",
    default: "2000",
    unit: "ms",
    meaning:
      "How old a machine's record is when it is sent to the object store: a machine that is resumed at once is not worth it.",
    schema: count,
  }),
};

/** Where images and golden machines are kept: SVC_CACHE_DIR, else the cache folder of the user. */
export function cacheDirOf(environment: NodeJS.ProcessEnv): string {
  const named = VM_HOST_SETTINGS.cacheDir.read(environment.SVC_CACHE_DIR);
  if (named) return resolve(named);
  // Root's own folders are closed to the users that machines run as.
  if (process.getuid?.() === 0) return "/var/cache/svc";
  return join(environment.XDG_CACHE_HOME || join(homedir(), ".cache"), "svc");
}

/** The configuration of a VM host process, from its environment. */
export function readConfig(environment: NodeJS.ProcessEnv) {
  const { maxVms, memoryMb, templateDiskMb, layerDiskMb, ...settings } = readSettings(
    VM_HOST_SETTINGS,
    environment,
  );
  return {
    ...settings,
    cacheDir: cacheDirOf(environment),
    capacity: { cpu: availableParallelism() * CPU_SHARE, memMb: memoryMb, slots: maxVms },
    goldenBytes: templateDiskMb * MIB,
    stepCacheBytes: layerDiskMb * MIB,
  };
}

export type VmHostConfig = ReturnType<typeof readConfig>;
