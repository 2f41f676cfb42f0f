import type { Command } from "commander";
import { withCli } from "../cli.ts";
import { CLIENTS } from "../mcp/clients.ts";
import { serve } from "../mcp/serve.ts";
import { configure } from "../mcp/config.ts";

/** Tools for models. */
export function addMcp(program: Command): void {
  const mcp = program
    .command("mcp")
    .description(
      "Serve the tools of the service to a model's client over stdin and stdout (MCP). Clients start it: `svc mcp config` tells them.",
    )
    .action(withCli(serve));
  mcp
    .command("config")
    .description(
      "Print how a client is told of the tools, or with --write tell it: what else its file has stays, comments included.",
    )
    .argument("<client>", CLIENTS.map(({ id }) => id).join(", "))
    .option("--local", "a program on this computer instead of the service's /mcp")
    .option(
      "--write",
      "put it into the client's file, keeping the one before beside it. A file that is likely committed never gets the key",
    )
    .action(withCli(configure));
}
