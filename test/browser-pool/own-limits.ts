import { endWith } from "@svc/host-kit/lifetime.ts";
import { createLog } from "@svc/host-kit/log.ts";
import { type PoolConfig, readConfig } from "../../browser-pool/config.ts";
import { openPool } from "../../browser-pool/assembly.ts";

/** What of a pool's configuration no variable sets: how long it waits for others. */
export type PoolLimits = Partial<Pick<PoolConfig, "orphanGraceMs" | "captchaLimits">>;

// A pool with the limits of a test's own, in TEST_LIMITS.
process.umask(0o022);
const limits = JSON.parse(process.env["TEST_LIMITS"] ?? "{}") as PoolLimits;
const config = { ...readConfig(process.env), ...limits };
const service = await openPool(config, createLog("browser-pool", config.logLevel));
endWith(() => service.stop(), config.stopMs);
process.send?.({ type: "ready", url: service.url, table: service.table });
