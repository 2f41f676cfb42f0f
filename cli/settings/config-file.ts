import { mkdir, readFile, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { UsageError } from "../errors.ts";
import { replaceFile } from "./replace-file.ts";

/** The file of `svc login`. The key belongs to that URL alone. */
export interface Config {
  baseUrl?: string | undefined;
  apiKey?: string | undefined;
}

/** The path of the file. */
export const configPath = (env: NodeJS.ProcessEnv): string =>
  join(env.XDG_CONFIG_HOME || join(homedir(), ".config"), "svc", "config.json");

/** The content of the file; empty where there is none. */
export async function readConfig(env: NodeJS.ProcessEnv): Promise<Config> {
  const path = configPath(env);
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return null;
    throw new UsageError(`${path} cannot be read (${error.code}): mend that, or remove it.`);
  });
  if (text === null) return {};
  const config = parsed(text);
  if (!config) throw new UsageError(`${path} is broken: remove it, then run \`svc login\` again.`);
  return config;
}

/** Writes the file, readable by this user alone. */
export async function writeConfig(env: NodeJS.ProcessEnv, config: Config): Promise<string> {
  const path = configPath(env);
  await mkdir(join(path, ".."), { recursive: true, mode: 0o700 });
  await replaceFile(path, `${JSON.stringify(config, null, 2)}\n`, 0o600);
  return path;
}

/** Removes the file. */
export const removeConfig = (env: NodeJS.ProcessEnv): Promise<void> =>
  rm(configPath(env), { force: true });

function parsed(text: string): Config | null {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null) return null;
    const { baseUrl, apiKey }: { baseUrl?: unknown; apiKey?: unknown } = value;
    return isText(baseUrl) && isText(apiKey) ? { baseUrl, apiKey } : null;
  } catch {
    return null;
  }
}

const isText = (value: unknown): value is string | undefined =>
  value === undefined || typeof value === "string";
