import type { Command } from "commander";
import { pairs } from "../arguments.ts";
import { withCli } from "../cli.ts";
import { copy } from "../machines/copy.ts";
import { exec } from "../machines/exec.ts";
import { listFiles } from "../machines/list-files.ts";
import { logs } from "../machines/logs.ts";
import { shell } from "../machines/shell.ts";

/** Commands that act inside of a machine. */
export function addInside(sandbox: Command): void {
  sandbox
    .command("exec")
    .description(
      "Run a command and end as it does: its exit code, its stdout, its stderr. Input is passed on, Ctrl-C too. " +
        "No shell reads the command: `-- sh -c '…'` runs one. A paused sandbox is resumed.",
    )
    .argument("<id>")
    .argument("<command...>", "after --")
    .option("--cwd <folder>", "where it runs")
    .option("--env <key=value>", "a variable; repeatable", pairs)
    .option("-n, --no-stdin", "its input is empty")
    .action(withCli(exec));
  sandbox
    .command("shell")
    .description("A terminal inside. It ends with its shell: `exit`, or Ctrl-D.")
    .argument("<id>")
    .argument("[command...]", "instead of a login shell, after --")
    .action(withCli(shell));
  sandbox
    .command("logs")
    .description(
      "The output of a process that was started inside, or a list of those that are kept.",
    )
    .argument("<id>")
    .argument("[process]", "its id, its pid or its tag")
    .option("-f, --follow", "go on until it ends")
    .action(withCli(logs));
  addFiles(sandbox);
}

function addFiles(sandbox: Command): void {
  sandbox
    .command("cp")
    .description("Copy a file or a folder into a sandbox or out of it. `-` is stdin or stdout.")
    .argument("<source>", "a path here, or ID:/path")
    .argument("<target>", "a path here, or ID:/path; a folder takes it under its own name")
    .action(withCli(copy));
  sandbox
    .command("ls-files")
    .description("List a folder inside.")
    .argument("<id>")
    .argument("[path]", "an absolute path", "/root")
    .action(withCli(listFiles));
}
