import { readFile } from "node:fs/promises";
import { text as allOf } from "node:stream/consumers";
import type { Svc } from "@svc/sdk/svc.ts";
import type { TemplateLine } from "@svc/sdk/templates.ts";
import type { Cli } from "../cli.ts";
import { UsageError } from "../errors.ts";
import { styled } from "../terminal/colours.ts";
import { plain } from "../terminal/plain.ts";
import { write } from "../terminal/pipes.ts";
import { hasBars, steps } from "../terminal/progress.ts";

export interface BuildOptions {
  name?: string;
  follow?: true;
  skipCache?: true;
}

type Wanted = Parameters<Svc["templates"]["create"]>[0];

/** Starts a build; with `--follow` it ends with the build. */
export async function build(cli: Cli, file: string, options: BuildOptions): Promise<void> {
  const { name, follow, skipCache } = options;
  const wanted = {
    ...(await readRecipe(file)),
    ...(name && { name }),
    ...(skipCache && { skipCache }),
  };
  if (!("name" in wanted))
    throw new UsageError(`${file} has no "name": write one, or pass --name.`);
  const { templates } = await cli.svc();
  // The service judges the recipe: it says which field is wrong.
  const made = await templates.create(wanted as Wanted);
  if (!follow) return cli.print(made, made.templateId);
  cli.note(`Building ${made.templateId}`);
  await followed(cli, made.templateId, made.steps);
  const ready = await templates.wait(made.templateId);
  cli.print(ready, ready.templateId);
}

/** The log as far as it is, or to its end. */
export async function showLog(cli: Cli, id: string, { follow }: { follow?: true }): Promise<void> {
  const { templates } = await cli.svc();
  const lines = follow ? templates.logs(id) : pagesOf(cli, id);
  for await (const line of lines)
    await write(process.stdout, cli.isJson ? `${JSON.stringify(line)}\n` : lineText(line));
}

async function* pagesOf(cli: Cli, id: string): AsyncGenerator<TemplateLine, void> {
  const { templates } = await cli.svc();
  for (let offset = 0; ;) {
    const { entries, nextOffset } = await templates.logPage(id, offset);
    yield* entries;
    if (entries.length === 0) return;
    offset = nextOffset;
  }
}

/** At a terminal the bar stands for the log of a build of many steps; elsewhere its lines go to stderr. */
async function followed(cli: Cli, id: string, most: number): Promise<void> {
  const { templates } = await cli.svc();
  await steps("Building", most + 1, async (count) => {
    for await (const line of templates.logs(id)) {
      count(
        line.step,
        `step ${Math.min(line.step, most)} of ${most}: ${plain(line.line).slice(0, 60)}`,
      );
      if (!hasBars()) await write(process.stderr, lineText(line));
    }
    count(most + 1);
  });
}

const lineText = ({ step, stream, line }: TemplateLine): string =>
  `${styled("dim", `${String(step).padStart(2)} `)}${stream === "system" ? styled("cyan", plain(line)) : plain(line)}\n`;

async function readRecipe(file: string): Promise<object> {
  const text = await (file === "-" ? allOf(process.stdin) : readFile(file, "utf8")).catch(
    (error: NodeJS.ErrnoException) => {
      throw new UsageError(`${file} cannot be read (${error.code}).`);
    },
  );
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  } catch (error) {
    throw new UsageError(`${file} is no JSON: ${String(error)}`);
  }
  throw new UsageError(`${file} is no object: it is the body of POST /templates (docs/API.md).`);
}
