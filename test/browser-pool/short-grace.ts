import { createLog } from "@svc/host-kit/log.ts";
import { readConfig } from "../../browser-pool/config.ts";
import { PoolService } from "../../browser-pool/service.ts";

// A pool that gives a silent gateway up after seconds instead of minutes.
const config = { ...readConfig(process.env), orphanGraceMs: 6_000 };
const service = await PoolService.start(config, createLog("browser-pool", config.logLevel));
process.on("SIGTERM", () => void service.stop().then(() => process.exit(0)));
process.send?.({ type: "ready", url: service.url, table: service.table });
