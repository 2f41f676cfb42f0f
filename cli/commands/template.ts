import type { Command } from "commander";
import { type Cli, withCli } from "../cli.ts";
import { build, showLog } from "../templates/build.ts";
import { listTemplates } from "../templates/list.ts";

/** Machines that are prepared. */
export function addTemplate(program: Command): void {
  const template = program
    .command("template")
    .description(
      "Machines that are prepared. `svc sandbox create --template ID` makes machines of one.",
    );
  template
    .command("build")
    .description(
      "Build a template as a file of JSON says: the body of POST /templates (docs/API.md).",
    )
    .argument("<file>", "`-` is stdin")
    .option("--name <name>", "what it is called, whatever the file says")
    .option("-f, --follow", "show the log, and end when the build does")
    .option("--skip-cache", "run every step anew")
    .action(withCli(build));
  template
    .command("ls")
    .description("List the built-in templates, then yours, newest first.")
    .action(withCli(listTemplates));
  template
    .command("logs")
    .description("The log of a build.")
    .argument("<id>")
    .option("-f, --follow", "go on until the build ends")
    .action(withCli(showLog));
  addEnds(template);
}

function addEnds(template: Command): void {
  template
    .command("cancel")
    .description("Cancel a build: the template is then `failed`.")
    .argument("<id>")
    .action(
      withCli(async (cli, id: string) => {
        const canceled = await (await cli.svc()).templates.cancel(id);
        cli.print(canceled, canceled.state);
      }),
    );
  template
    .command("rm")
    .description("Delete templates. Machines made of them go on.")
    .argument("<ids...>")
    .action(withCli(remove));
}

async function remove(cli: Cli, ids: string[]): Promise<void> {
  const svc = await cli.svc();
  for (const id of ids) await svc.templates.delete(id);
  cli.print({ deleted: ids }, ids.join("\n"));
}
