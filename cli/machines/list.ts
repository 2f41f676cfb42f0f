import { type Cli, firstOf } from "../cli.ts";
import { UsageError } from "../errors.ts";
import { ago } from "../terminal/table.ts";

export const STATES = ["starting", "running", "paused", "archived", "releasing", "gone"] as const;

/** Which machines a list has. */
export interface Filter {
  state?: string;
  label?: Record<string, string>;
  all?: true;
  limit: number;
}

/** The machines of a kind. */
export async function listMachines(
  cli: Cli,
  kind: "sandbox" | "desktop",
  { state: wanted, label: metadata, all, limit }: Filter,
): Promise<void> {
  const state = STATES.find((one) => one === wanted);
  if (wanted && !state)
    throw new UsageError(`--state is one of ${STATES.join(", ")}, not ${wanted}.`);
  const svc = await cli.svc();
  const machines = svc.sandboxes.list({ state, kind, metadata, limit: 100 });
  const shown = async function* () {
    for await (const one of machines) if (all || state || one.state !== "gone") yield one;
  };
  cli.printRows(
    await firstOf(shown(), limit),
    {
      id: ({ sandboxId }) => sandboxId,
      state: ({ state: is }) => is,
      template: ({ template }) => template,
      size: ({ cpu, memMb, diskGb }) => `${cpu} cpu, ${memMb} MiB, ${diskGb} GiB`,
      created: ({ createdAt }) => ago(createdAt),
      labels: ({ metadata: labels }) =>
        Object.entries(labels)
          .map(([key, value]) => `${key}=${value}`)
          .join(" ") || undefined,
    },
    `There is no ${kind}: \`svc ${kind} create\` makes one.`,
  );
}
