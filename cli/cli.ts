import type { Command } from "commander";
import { Svc } from "@svc/sdk/svc.ts";
import { UsageError } from "./errors.ts";
import { type Found, type Globals, readSettings, type Settings } from "./settings/settings.ts";
import { styled } from "./terminal/colours.ts";
import { type Columns, facts, table } from "./terminal/table.ts";

/** How many rows a list has unless `--limit` says otherwise. */
export const ROWS = 50;

type Facts = Readonly<Record<string, string | number | null | undefined>>;

/** Each command gets one: the service, and a way to print. */
export class Cli {
  readonly isJson: boolean;
  readonly #globals: Globals;
  #settings: Promise<Settings> | undefined;

  constructor(globals: Globals) {
    this.#globals = globals;
    this.isJson = globals.json === true;
  }

  settings(): Promise<Settings> {
    return (this.#settings ??= readSettings(this.#globals, process.env));
  }

  /** The settings, for commands that need a key. */
  async neededSettings(): Promise<Settings & { apiKey: Found }> {
    const { apiKey, ...settings } = await this.settings();
    if (apiKey) return { ...settings, apiKey };
    throw new UsageError(
      `There is no API key for ${settings.baseUrl.value}: run \`svc login\`, or set SVC_API_KEY.`,
    );
  }

  /** The service, by the key that was found. */
  async svc(): Promise<Svc> {
    const { baseUrl, browserUrl, apiKey } = await this.neededSettings();
    return new Svc({
      apiKey: apiKey.value,
      baseUrl: baseUrl.value,
      browserUrl: browserUrl ?? baseUrl.value,
      WebSocket: await socketClass(),
    });
  }

  /** Prints the answer: as JSON, or as `words` say it. */
  print(answer: unknown, words: string): void {
    console.log(this.isJson ? JSON.stringify(answer, null, 2) : words);
  }

  /** Prints one thing. */
  printFacts(answer: unknown, all: Facts): void {
    this.print(answer, this.isJson ? "" : facts(all));
  }

  /** Prints a list as an array, or as a table. */
  printRows<Item>(items: readonly Item[], columns: Columns<Item>, none: string): void {
    if (this.isJson) console.log(JSON.stringify(items, null, 2));
    else if (items.length > 0) console.log(table(items, columns));
    else this.note(none);
  }

  /** A word beside the answer: on stderr, so that the answer can be piped. */
  note(words: string): void {
    if (!this.isJson) console.error(styled("dim", words, process.stderr));
  }
}

/** The first rows of a list. */
export async function firstOf<Item>(list: AsyncIterable<Item>, most: number): Promise<Item[]> {
  const items: Item[] = [];
  if (most < 1) return items;
  for await (const item of list) {
    items.push(item);
    if (items.length >= most) break;
  }
  return items;
}

/** The WebSocket of `ws` where Node has none of its own: before Node 22. */
async function socketClass() {
  if ("WebSocket" in globalThis) return undefined;
  const { WebSocket } = await import("ws");
  return WebSocket as unknown as NonNullable<ConstructorParameters<typeof Svc>[0]>["WebSocket"];
}

/** An action of commander: what the command line has, after `Cli`. */
export const withCli = <Given extends unknown[]>(
  work: (cli: Cli, ...given: Given) => Promise<void> | void,
): ((this: Command, ...given: [...Given, Command]) => Promise<void>) =>
  async function (this: Command, ...given) {
    await work(new Cli(this.optsWithGlobals()), ...(given.slice(0, -1) as unknown as Given));
  };
