import type { Command } from "commander";
import { logIn, logOut } from "../account/login.ts";
import { showStatus } from "../account/status.ts";
import { withCli } from "../cli.ts";

/** The key of a person and the service: `login`, `logout`, `status`. */
export function addAccount(program: Command): void {
  program
    .command("login")
    .description("Keep an API key for later calls. It is asked for, or read from a pipe.")
    .action(withCli(logIn));
  program.command("logout").description("Forget what `svc login` kept.").action(withCli(logOut));
  program
    .command("status")
    .description("Which service, which key, what runs now, and what the month has cost.")
    .action(withCli(showStatus));
}
