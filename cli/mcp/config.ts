import { homedir } from "node:os";
import { resolve } from "node:path";
import { stringify } from "smol-toml";
import type { Cli } from "../cli.ts";
import { UsageError } from "../errors.ts";
import { type Client, CLIENTS, type Facts, KEY_VARIABLE, SERVER, type Value } from "./clients.ts";
import { localProgram } from "./local-program.ts";
import { mergeFile } from "./merge-file.ts";

export interface ConfigOptions {
  local?: true;
  write?: true;
}

/** Prints how a client is told of the tools of the service, or tells it. */
export async function configure(cli: Cli, id: string, options: ConfigOptions): Promise<void> {
  const client = CLIENTS.find((one) => one.id === id);
  if (!client) throw new UsageError(`${id} is none of ${CLIENTS.map((one) => one.id).join(", ")}.`);
  const way = options.local ? "local" : "hosted";
  const facts = await factsOf(cli, client, options);
  const entry = entryOf(client, facts, options);
  const file = resolve(
    client.file({ home: homedir(), platform: process.platform, env: process.env }),
  );
  const settings = { ...client.beside, [client.under]: { [SERVER]: entry } };
  const command = client.command?.[way]?.(facts);
  if (!options.write) {
    const snippet =
      client.format === "toml" ? stringify(settings) : JSON.stringify(settings, null, 2);
    const lines = [`# ${file}`, snippet.trim(), ...(command ? ["", "# or", command] : [])];
    return cli.print({ client: id, file, settings, command }, lines.join("\n"));
  }
  const { isChanged, backup } = await mergeFile(file, client, entry);
  const said = isChanged ? `${file} has it now` : `${file} has had it already`;
  cli.print({ client: id, file, isChanged, backup }, backup ? `${said}; before: ${backup}` : said);
  if (client.note) cli.note(client.note);
  if (client.isShared && client.variable?.includes(KEY_VARIABLE))
    cli.note(
      `Set ${KEY_VARIABLE} where ${client.title} runs: the file has no key, it may be committed.`,
    );
}

function entryOf(client: Client, facts: Facts, { local }: ConfigOptions): { [key: string]: Value } {
  if (local) return client.local(facts);
  if ("not" in client.hosted) throw new UsageError(`${client.title}: ${client.hosted.not}`);
  return client.hosted(facts);
}

async function factsOf(cli: Cli, client: Client, { write }: ConfigOptions): Promise<Facts> {
  const { baseUrl, apiKey } = await cli.settings();
  const base = baseUrl.value.replace(/\/+$/, "");
  // The printed text is copied and kept: the key is written only into a file of this user alone.
  const key = client.variable ?? (write ? apiKey?.value : `YOUR_${KEY_VARIABLE}`);
  if (key === undefined)
    throw new UsageError(
      `There is no API key to write: run \`svc login\`, or set ${KEY_VARIABLE}.`,
    );
  return { url: `${base}/mcp`, baseUrl: base, key, program: localProgram() };
}
