import type { Command } from "commander";
import { type Cli, firstOf, withCli } from "../cli.ts";
import { ago, bytesText } from "../terminal/table.ts";

/** Cookies and storage that outlive their sessions. */
export function addProfile(program: Command): void {
  const profile = program
    .command("profile")
    .description("Cookies and storage that outlive browser sessions (docs/PROFILES.md).");
  profile.command("ls").description("List profiles.").action(withCli(list));
  profile
    .command("create")
    .description("Create an empty profile.")
    .argument("<name>")
    .action(
      withCli(async (cli, name: string) => {
        const made = await (await cli.svc()).profiles.create(name);
        cli.print(made, made.id);
      }),
    );
  profile
    .command("rm")
    .description("Delete profiles.")
    .argument("<ids...>")
    .action(withCli(remove));
}

async function list(cli: Cli): Promise<void> {
  const all = await firstOf((await cli.svc()).profiles.list(), Infinity);
  cli.printRows(
    all,
    {
      id: ({ id }) => id,
      name: ({ name }) => name,
      version: ({ version }) => version,
      size: ({ sizeBytes }) => (sizeBytes === null ? undefined : bytesText(sizeBytes)),
      saved: ({ savedAt }) => ago(savedAt) ?? "never",
    },
    "There is no profile: `svc profile create NAME` makes one.",
  );
}

async function remove(cli: Cli, ids: string[]): Promise<void> {
  const svc = await cli.svc();
  for (const id of ids) await svc.profiles.delete(id);
  cli.print({ deleted: ids }, ids.join("\n"));
}
