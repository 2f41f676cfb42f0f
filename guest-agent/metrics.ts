import { type GuestMetrics, HOST_METHODS } from "@svc/contract/control-channel/host-methods.ts";
import type { Method } from "@svc/contract/control-channel/rpc-server.ts";
import { readFile, statfs } from "node:fs/promises";
import { method } from "@svc/contract/control-channel/method.ts";

/** `metrics.read`. */
export function metricsMethod(): Method {
  return method(HOST_METHODS["metrics.read"], readMetrics);
}

async function readMetrics(): Promise<GuestMetrics> {
  const meminfo = await readFile("/proc/meminfo", "utf8");
  const disk = await statfs("/");
  const memTotalBytes = kibibytes(meminfo, "MemTotal");
  return {
    memTotalBytes,
    memBytes: memTotalBytes - kibibytes(meminfo, "MemAvailable"),
    diskTotalBytes: disk.blocks * disk.bsize,
    diskBytes: (disk.blocks - disk.bfree) * disk.bsize,
  };
}

function kibibytes(meminfo: string, name: string): number {
  return Number(new RegExp(`^${name}: +(\\d+) kB`, "m").exec(meminfo)?.[1] ?? 0) * 1024;
}
