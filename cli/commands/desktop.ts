import type { Command } from "commander";
import { count, duration, pairs, port } from "../arguments.ts";
import { type Cli, ROWS, withCli } from "../cli.ts";
import { openDesktop } from "../desktops/open.ts";
import { screenshot } from "../desktops/screenshot.ts";
import { type Filter, listMachines } from "../machines/list.ts";

interface Wanted {
  template?: string;
  resolution?: string;
  cpu?: number;
  mem?: number;
  idle?: number;
  label?: Record<string, string>;
  record?: true;
}

/** Machines with a screen. */
export function addDesktop(program: Command): void {
  const desktop = program
    .command("desktop")
    .description(
      "Linux machines with a screen. All that `svc sandbox` does inside works on them, too.",
    );
  desktop
    .command("create")
    .description("Create a desktop.")
    .option("--template <name>", "`default`, `office`, `code`, or a template of yours")
    .option("--resolution <size>", "1280x720, at most 3840x2160")
    .option("--cpu <n>", "processors", count)
    .option("--mem <mib>", "memory in MiB", count)
    .option("--idle <time>", "pause it when nobody used it so long: 90s, 15m, 2h", duration)
    .option("--label <key=value>", "a label; repeatable", pairs)
    .option("--record", "record the screen (docs/RECORDING.md)")
    .action(withCli(create));
  desktop
    .command("ls")
    .description("List desktops, newest first. Those that are gone are left out unless --all.")
    .option("--state <state>", "only those: as of `svc sandbox ls`")
    .option("--label <key=value>", "only those with this label; repeatable", pairs)
    .option("--all", "those that are gone too")
    .option("--limit <n>", "rows at most", count, ROWS)
    .action(withCli((cli, options: Filter) => listMachines(cli, "desktop", options)));
  addScreen(desktop);
}

function addScreen(desktop: Command): void {
  desktop
    .command("open")
    .description(
      "Let a VNC viewer of this computer see and use the desktop, until Ctrl-C. It listens on 127.0.0.1: other users of this computer could connect, too.",
    )
    .argument("<id>")
    .option("--port <n>", "where it listens; a free port unless said", port)
    .option("--view-only", "see, and do nothing")
    .option("--url", "print the WebSocket URL for noVNC instead: whoever has it drives the desktop")
    .action(withCli(openDesktop));
  desktop
    .command("screenshot")
    .description("A picture of the screen, into a file.")
    .argument("<id>")
    .option("-o, --output <file>", "where: .png or .jpg; `-` is stdout", "screenshot.png")
    .action(withCli(screenshot));
  desktop
    .command("rm")
    .description("Destroy desktops and all that is in them. Repeating it is fine.")
    .argument("<ids...>")
    .action(withCli(remove));
}

async function remove(cli: Cli, ids: string[]): Promise<void> {
  const svc = await cli.svc();
  for (const id of ids) await svc.desktops.kill(id);
  cli.print({ ids, state: "gone" }, ids.join("\n"));
}

async function create(cli: Cli, wanted: Wanted): Promise<void> {
  const { template, resolution, cpu, mem, idle, label, record } = wanted;
  const svc = await cli.svc();
  const made = await svc.desktops.create({
    template,
    resolution,
    cpu,
    memMb: mem,
    timeoutMs: idle,
    metadata: label,
    record,
  });
  cli.print(made.created, made.id);
  cli.note(`\`svc desktop open ${made.id}\` shows it.`);
}
