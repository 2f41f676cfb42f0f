import { awaitGateway } from "@svc/host-kit/await-gateway.ts";
import { endWith } from "@svc/host-kit/lifetime.ts";
import { createLog, messageOf } from "@svc/host-kit/log.ts";
import { openHost } from "./assembly.ts";
import { readConfig } from "./config.ts";

// Images and golden machines are made by this process and read by the machines' users.
process.umask(0o022);

const config = readConfig(process.env);
const log = createLog("vm-host", config.logLevel);

// A promise that was dropped must not end everybody's machines.
process.on("unhandledRejection", (error) => {
  log.error({ reason: messageOf(error) }, "rejection_not_handled");
});

await awaitGateway(config.gatewayUrl);
const service = await openHost(config, log);
endWith(async (why) => {
  log.info({ why }, "host_stopping");
  await service.stop();
}, config.stopMs);
// The supervisor may have gone meanwhile: then this process is on its way out.
const tell = (type: string): void => {
  if (process.connected) process.send?.({ type, url: service.url, table: service.table });
};
tell("ready");
log.info({ url: service.url }, "host_up");
await service.settled();
tell("serving");
