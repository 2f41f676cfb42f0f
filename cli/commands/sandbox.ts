import type { Command } from "commander";
import type { SandboxCreated } from "@svc/sdk/sandboxes.ts";
import { count, duration, mounts, pairs, port } from "../arguments.ts";
import { type Cli, ROWS, withCli } from "../cli.ts";
import { UsageError } from "../errors.ts";
import { type Filter, listMachines, STATES } from "../machines/list.ts";
import { ago, bytesText } from "../terminal/table.ts";
import { addInside } from "./sandbox-inside.ts";

interface Wanted {
  template?: string;
  cpu?: number;
  mem?: number;
  disk?: number;
  idle?: number;
  label?: Record<string, string>;
  env?: Record<string, string>;
  volume?: { volumeId: string; path: string }[];
  shared?: true;
}

/** Machines. */
export function addSandbox(program: Command): void {
  const sandbox = program.command("sandbox").description("Linux machines, each a microVM.");
  sandbox
    .command("create")
    .description("Create a sandbox.")
    .option("--template <name>", "`base`, or a template of yours")
    .option("--cpu <n>", "processors", count)
    .option("--mem <mib>", "memory in MiB", count)
    .option("--disk <gib>", "disk in GiB", count)
    .option("--idle <time>", "pause it when nobody used it so long: 90s, 15m, 2h", duration)
    .option("--label <key=value>", "a label; repeatable", pairs)
    .option("--env <key=value>", "a variable of all its commands; repeatable", pairs)
    .option("--volume <id:path>", "mount a volume there; repeatable", mounts)
    .option("--shared", "share a machine with others of your org")
    .action(withCli(create));
  sandbox
    .command("ls")
    .description("List sandboxes, newest first. Those that are gone are left out unless --all.")
    .option("--state <state>", `only those: ${STATES.join(", ")}`)
    .option("--label <key=value>", "only those with this label; repeatable", pairs)
    .option("--all", "those that are gone too")
    .option("--limit <n>", "rows at most", count, ROWS)
    .action(withCli((cli, options: Filter) => listMachines(cli, "sandbox", options)));
  addInside(sandbox);
  addStates(sandbox);
  addCopies(sandbox);
}

async function create(cli: Cli, wanted: Wanted): Promise<void> {
  const svc = await cli.svc();
  const box = await svc.sandboxes.create({
    template: wanted.template,
    cpu: wanted.cpu,
    memMb: wanted.mem,
    diskGb: wanted.disk,
    timeoutMs: wanted.idle,
    metadata: wanted.label,
    envs: wanted.env,
    volumes: wanted.volume,
    isolation: wanted.shared && "shared",
  });
  printCreated(cli, box.created);
}

/** The id alone goes to stdout: `id=$(svc sandbox create)`. */
function printCreated(cli: Cli, created: SandboxCreated | null, more: object = {}): void {
  if (!created) return;
  const { sandboxId, cpu, memMb, diskGb, expiresAt } = created;
  cli.print({ ...created, ...more }, sandboxId);
  cli.note(`${cpu} cpu, ${memMb} MiB, ${diskGb} GiB; unless it is used it rests ${ago(expiresAt)}`);
}

function addStates(sandbox: Command): void {
  sandbox
    .command("get")
    .description("Show one sandbox. It counts as use.")
    .argument("<id>")
    .action(
      withCli(async (cli, id: string) => {
        const record = await (await cli.svc()).sandboxes.get(id);
        cli.printFacts(record, { ...record, metadata: JSON.stringify(record.metadata) });
      }),
    );
  sandbox
    .command("pause")
    .description("Save memory and disk, and free the place. Nothing is billed until it is resumed.")
    .argument("<ids...>")
    .action(withCli((cli, ids: string[]) => change(cli, ids, "paused", (box) => box.pause())));
  sandbox
    .command("resume")
    .description("Go on where it was paused.")
    .argument("<ids...>")
    .action(withCli((cli, ids: string[]) => change(cli, ids, "running", (box) => box.resume())));
  sandbox
    .command("rm")
    .description("Destroy sandboxes and all that is in them. Repeating it is fine.")
    .argument("<ids...>")
    .action(withCli((cli, ids: string[]) => change(cli, ids, "gone", (box) => box.kill())));
  sandbox
    .command("metrics")
    .description("Processor, memory and disk.")
    .argument("<id>")
    .action(withCli(showMetrics));
  sandbox
    .command("port")
    .description("A URL of a TCP port inside, for an hour.")
    .argument("<id>")
    .argument("<port>", "from 1 to 65535", port)
    .option("--public", "open the port to everyone who has its host name, without a token")
    .option("--private", "ask for a token again")
    .action(withCli(openPort));
}

async function showMetrics(cli: Cli, id: string): Promise<void> {
  const seen = await (await machineOf(cli, id)).metrics();
  const memory = `${bytesText(seen.memBytes)} of ${bytesText(seen.memTotalBytes)}`;
  const cpu = `${seen.cpuPct.toFixed(1)} %`;
  cli.printFacts(seen, { cpu, memory, disk: bytesText(seen.diskBytes) });
}

async function openPort(
  cli: Cli,
  id: string,
  inside: number,
  { public: open, private: closed }: { public?: true; private?: true },
): Promise<void> {
  if (open && closed) throw new UsageError("--public and --private exclude each other.");
  const isPublic = open ? true : closed ? false : undefined;
  const preview = await (await machineOf(cli, id)).preview(inside, { public: isPublic });
  const url = open ? new URL(preview.url()).origin : preview.url();
  cli.print({ url, token: preview.token, public: isPublic }, url);
}

function addCopies(sandbox: Command): void {
  sandbox
    .command("snapshot")
    .description("Save disk and memory as a snapshot. The sandbox runs on.")
    .argument("<id>")
    .option("--name <name>", "what it is called")
    .option("--label <key=value>", "a label; repeatable", pairs)
    .action(
      withCli(async (cli, id: string, { name, label }: { name?: string; label?: object }) => {
        const taken = await (await machineOf(cli, id)).snapshot({ name, metadata: { ...label } });
        cli.print(taken, taken.snapshotId);
      }),
    );
  sandbox
    .command("fork")
    .description("Create a sandbox that goes on where another one, or a snapshot, is.")
    .argument("<from>", "a snapshot, or a sandbox: then a snapshot of it is taken, and stays")
    .action(
      withCli(async (cli, from: string) => {
        const svc = await cli.svc();
        const isSnapshot = from.startsWith("snap_");
        const { snapshotId } = isSnapshot
          ? { snapshotId: from }
          : await (await machineOf(cli, from)).snapshot();
        const { created } = await svc.sandboxes.fork(snapshotId);
        printCreated(cli, created, { fromSnapshot: snapshotId });
      }),
    );
}

type Machine = Awaited<ReturnType<typeof machineOf>>;

/** A sandbox as it is: nothing is asked, and it is not resumed. */
async function machineOf(cli: Cli, id: string) {
  return (await cli.svc()).sandboxes.at(id);
}

async function change(
  cli: Cli,
  ids: readonly string[],
  state: string,
  work: (machine: Machine) => Promise<void>,
): Promise<void> {
  for (const id of ids) await work(await machineOf(cli, id));
  cli.print({ ids, state }, ids.join("\n"));
}
