import { awaitGateway } from "@svc/host-kit/await-gateway.ts";
import { endWith } from "@svc/host-kit/lifetime.ts";
import { createLog, messageOf } from "@svc/host-kit/log.ts";
import { tell } from "@svc/host-kit/start-messages.ts";
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
tell("ready", service);
log.info({ url: service.url }, "host_up");
await service.settled();
tell("serving", service);
