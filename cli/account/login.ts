import { text as allOf } from "node:stream/consumers";
import { parseApiKey } from "@svc/contract/ids.ts";
import { AuthenticationError } from "@svc/sdk/errors.ts";
import { Svc } from "@svc/sdk/svc.ts";
import type { Cli } from "../cli.ts";
import { EXIT } from "../exit-codes.ts";
import { Ended, Refusal, UsageError } from "../errors.ts";
import { removeConfig, writeConfig } from "../settings/config-file.ts";

/** Keeps an API key, if the service takes it. */
export async function logIn(cli: Cli): Promise<void> {
  const { baseUrl, apiKey: found } = await cli.settings();
  const isGiven = found?.from === "--api-key";
  const apiKey = (isGiven ? found.value : await askedKey(baseUrl.value)).trim();
  if (!parseApiKey(apiKey))
    throw new UsageError("That is no API key: it looks like svc_live_…_… Copy all of it.");
  await tryKey(apiKey, baseUrl.value);
  const path = await writeConfig(process.env, { baseUrl: baseUrl.value, apiKey });
  cli.print(
    { baseUrl: baseUrl.value, path },
    `The key for ${baseUrl.value} is kept in ${path}, for you alone.`,
  );
}

/** Forgets the key that `logIn` kept. */
export async function logOut(cli: Cli): Promise<void> {
  await removeConfig(process.env);
  cli.print({ ok: true }, "Forgotten. The key itself lives on until it is revoked.");
}

async function askedKey(baseUrl: string): Promise<string> {
  if (!process.stdin.isTTY) return allOf(process.stdin);
  const { isCancel, password } = await import("@clack/prompts");
  const answer = await password({ message: `API key for ${baseUrl}`, output: process.stderr });
  if (isCancel(answer)) throw new Ended(EXIT.interrupted);
  return answer;
}

async function tryKey(apiKey: string, baseUrl: string): Promise<void> {
  try {
    await new Svc({ apiKey, baseUrl, browserUrl: baseUrl }).proxy.countries();
  } catch (error) {
    if (!(error instanceof AuthenticationError)) throw error;
    throw new Refusal(`${baseUrl} does not take this key: it is of another service, or revoked.`);
  }
}
