import type { ProcessRecord } from "@svc/sdk/channel/commands.ts";
import type { Process } from "@svc/sdk/channel/process.ts";
import { RING_BYTES } from "@svc/contract/control-channel/protocol.ts";
import type { Cli } from "../cli.ts";
import { Ended, Refusal } from "../errors.ts";
import { EXIT } from "../exit-codes.ts";
import { ago } from "../terminal/table.ts";
import { readerGone, write } from "../terminal/pipes.ts";

/** The output of a process that the machine keeps: what there is, or to its end. */
export async function logs(
  cli: Cli,
  id: string,
  wanted: string | undefined,
  { follow }: { follow?: true },
): Promise<void> {
  const box = await (await cli.svc()).sandboxes.connect(id);
  const processes = await box.commands.list();
  if (wanted === undefined) return listProcesses(cli, processes);
  const found = processes.find(({ id: name, pid, tag }) =>
    [name, String(pid), tag].includes(wanted),
  );
  if (!found)
    throw new Refusal(
      `The machine keeps no process ${wanted}: \`svc sandbox logs ID\` lists those.`,
    );
  const process = box.commands.connect(found.id, found.pid);
  await (follow ? followToEnd(process) : printKept(process));
}

function listProcesses(cli: Cli, processes: readonly ProcessRecord[]): void {
  cli.printRows(
    processes,
    {
      id: ({ id }) => id,
      pid: ({ pid }) => pid,
      started: ({ startedAt }) => ago(startedAt),
      state: ({ exitCode }) => (exitCode === undefined ? "runs" : `ended with ${exitCode}`),
      command: ({ cmd, args }) => [cmd, ...args].join(" "),
    },
    "The machine keeps no process.",
  );
}

/** Prints a process's output to its end. A reader that leaves does not end the process. */
async function followToEnd(process: Process): Promise<void> {
  const abort = new AbortController();
  const gone = readerGone();
  gone.addEventListener("abort", () => abort.abort());
  try {
    await process.attach({ signal: abort.signal, onBytes: print }).ended;
  } catch (error) {
    if (gone.aborted) throw new Ended(EXIT.brokenPipe);
    throw error;
  }
}

/** Prints the output that the machine has now: it keeps the last MiB. */
async function printKept(process: Process): Promise<void> {
  const kept: [1 | 2, Uint8Array][] = [];
  let bytes = 0;
  const abort = new AbortController();
  const attachment = process.attach({
    signal: abort.signal,
    onBytes: (channel, part) => {
      kept.push([channel, part]);
      bytes += part.length;
    },
  });
  const ended = attachment.ended.then(
    () => true,
    () => true,
  );
  // No message marks the end of the kept output: all of it has come when an answer follows no further output.
  for (let before = -1; before !== bytes && bytes < RING_BYTES;) {
    before = bytes;
    const answered = attachment.write(NOTHING).then(
      () => false,
      () => true,
    );
    if (await Promise.race([answered, ended])) break;
  }
  abort.abort();
  for (const [channel, part] of kept) await print(channel, part);
}

const NOTHING = new Uint8Array(0);

const print = (channel: 1 | 2, bytes: Uint8Array): Promise<void> =>
  write(channel === 1 ? process.stdout : process.stderr, bytes);
