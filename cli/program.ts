import { Command } from "commander";
import { addAccount } from "./commands/account.ts";
import { addBrowser } from "./commands/browser.ts";
import { addKeys } from "./commands/keys.ts";
import { addService } from "./commands/service.ts";
import { addDesktop } from "./commands/desktop.ts";
import { addMcp } from "./commands/mcp.ts";
import { addProfile } from "./commands/profile.ts";
import { addSandbox } from "./commands/sandbox.ts";
import { addTemplate } from "./commands/template.ts";
import { addVolume } from "./commands/volume.ts";

import { oneLine } from "./terminal/plain.ts";
import { styled } from "./terminal/colours.ts";

/** The tree of commands. What a command does is loaded when it runs. */
export function makeProgram(): Command {
  const program = new Command("svc")
    .description("Browsers and Linux machines on demand.")
    .option("--json", "print the answer as JSON")
    .option("--base-url <url>", "the service (SVC_BASE_URL, or what `svc login` kept)")
    .option(
      "--api-key <key>",
      "the API key. Others see it in the list of processes: SVC_API_KEY and `svc login` are better",
    )
    .exitOverride()
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      outputError: (text, write) => {
        const words = oneLine(text.replace(/^error: /, ""));
        write(
          `${styled("red", "svc:", process.stderr)} ${words} (--help shows how it is called)\n`,
        );
      },
    });
  addService(program);
  addAccount(program);
  addBrowser(program);
  addSandbox(program);
  addDesktop(program);
  addProfile(program);
  addVolume(program);
  addTemplate(program);
  addKeys(program);
  addMcp(program);
  return program;
}
