import type { Command } from "commander";
import { withCli } from "../cli.ts";
import { examine } from "../doctor/doctor.ts";
import { Ended } from "../errors.ts";
import { neededInstallation, runScript } from "../installation/installation.ts";

const HOST_SCRIPTS = { pool: "scripts/pool.ts", vm: "scripts/vm-host.ts" } as const;

/** The service itself, on this computer: `start`, `host`, `doctor`. */
export function addService(program: Command): void {
  program
    .command("start")
    .description(
      "Run the whole service on this computer, as `npm start` does. In a clone of the project.",
    )
    .action(() => end("scripts/start.ts"));
  const host = program
    .command("host")
    .description(
      "Run a host of a service whose gateway is elsewhere (docs/DEPLOY.md). In a clone of the project.",
    );
  host
    .command("pool")
    .description(
      "Run a browser pool. SVC_GATEWAY_URL and SVC_HOST_TOKEN say of which service (docs/CONFIGURATION.md).",
    )
    .action(() => end(HOST_SCRIPTS.pool));
  host
    .command("vm")
    .description(
      "Run a VM host. SVC_GATEWAY_URL and SVC_HOST_TOKEN say of which service (docs/CONFIGURATION.md).",
    )
    .action(() => end(HOST_SCRIPTS.vm));
  program
    .command("doctor")
    .description(
      "What is there and what is missing, with the one command that mends it. Ends with 1 when something is missing.",
    )
    .option(
      "--fix",
      "install the system packages that are missing, as root; otherwise print the line that does",
    )
    .action(withCli(examine));
}

async function end(script: string): Promise<never> {
  throw new Ended(await runScript(neededInstallation(), [script]));
}
