import type { Command } from "commander";
import { count, pairs } from "../arguments.ts";
import { type Cli, firstOf, withCli } from "../cli.ts";
import { ago } from "../terminal/table.ts";

/** Storage that outlives machines. */
export function addVolume(program: Command): void {
  const volume = program
    .command("volume")
    .description(
      "Storage that outlives machines. `svc sandbox create --volume ID:/path` mounts one.",
    );
  volume.command("ls").description("List volumes, newest first.").action(withCli(list));
  volume
    .command("create")
    .description("Create a volume.")
    .argument("[name]", "what it is called")
    .option("--size <mib>", "a hint, in MiB", count)
    .option("--label <key=value>", "a label; repeatable", pairs)
    .action(withCli(create));
  volume
    .command("get")
    .description("Show one volume.")
    .argument("<id>")
    .action(
      withCli(async (cli, id: string) => {
        const found = await (await cli.svc()).volumes.get(id);
        cli.printFacts(found, { ...found, metadata: JSON.stringify(found.metadata) });
      }),
    );
  volume
    .command("rm")
    .description("Delete volumes and all that is in them.")
    .argument("<ids...>")
    .action(withCli(remove));
}

async function list(cli: Cli): Promise<void> {
  const all = await firstOf((await cli.svc()).volumes.list(), Infinity);
  cli.printRows(
    all,
    {
      id: ({ volumeId }) => volumeId,
      name: ({ name }) => name,
      size: ({ sizeMb }) => (sizeMb === undefined ? undefined : `${sizeMb} MiB`),
      created: ({ createdAt }) => ago(createdAt),
    },
    "There is no volume: `svc volume create` makes one.",
  );
}

async function create(
  cli: Cli,
  name: string | undefined,
  { size, label }: { size?: number; label?: Record<string, string> },
): Promise<void> {
  const wanted = { name, sizeMb: size, metadata: label };
  const made = await (await cli.svc()).volumes.create(wanted);
  cli.print(made, made.volumeId);
}

async function remove(cli: Cli, ids: string[]): Promise<void> {
  const svc = await cli.svc();
  for (const id of ids) await svc.volumes.delete(id);
  cli.print({ deleted: ids }, ids.join("\n"));
}
