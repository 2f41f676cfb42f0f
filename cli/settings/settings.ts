import { readFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { UsageError } from "../errors.ts";
import { type Config, configPath, readConfig } from "./config-file.ts";

/** The options of every command, given before or after its name. */
export interface Globals {
  json?: true;
  baseUrl?: string;
  apiKey?: string;
}

/** A setting, and where it is from. */
export interface Found {
  value: string;
  from: string;
}

/** Which service is asked, with which key. */
export interface Settings {
  baseUrl: Found;
  /** The URL of the browser gateway, where it is another one. */
  browserUrl: string | undefined;
  apiKey: Found | null;
}

/** The URL of a service that `npm start` runs here. */
const localUrl = (env: NodeJS.ProcessEnv): string => `http://127.0.0.1:${env.SVC_PORT || 8787}`;

/** The command line goes before the environment, that before the file of `svc login`, that before a service on this machine. */
export async function readSettings(
  { baseUrl, apiKey }: Globals,
  env: NodeJS.ProcessEnv,
): Promise<Settings> {
  const given = pick(baseUrl, "--base-url") ?? pick(env.SVC_BASE_URL, "SVC_BASE_URL");
  const key = pick(apiKey, "--api-key") ?? pick(env.SVC_API_KEY, "SVC_API_KEY");
  // A file that nothing is needed of may be broken.
  const config: Config = given && key ? {} : await readConfig(env);
  const url = given ??
    pick(config.baseUrl, configPath(env)) ?? { value: localUrl(env), from: "default" };
  checkUrl(url);
  return {
    baseUrl: url,
    // A kept key belongs to one service: no variable sends it to another.
    browserUrl: (key && env.SVC_BROWSER_URL) || undefined,
    apiKey: key ?? keptKey(config, url, env) ?? (await localSecret("dev.key", url.value, env)),
  };
}

/** A secret of a service that `npm start` runs on this machine: the secret is sent to no other machine. */
export async function localSecret(
  name: "dev.key" | "admin.token",
  baseUrl: string,
  env: NodeJS.ProcessEnv,
): Promise<Found | null> {
  if (!isLoopback(baseUrl)) return null;
  for (const folder of stateFolders(env)) {
    const path = join(folder, name);
    const text = await readFile(path, "utf8").catch(() => "");
    if (text.trim() !== "") return { value: text.trim(), from: path };
  }
  return null;
}

/** Whether a URL leads to this machine. */
export const isLoopback = (url: string): boolean =>
  /^(localhost|127(\.\d+){3}|\[::1\]|.+\.localhost)$/.test(new URL(url).hostname);

/** The folder of state of a service is at the root of its installation: here or above. */
function stateFolders(env: NodeJS.ProcessEnv): string[] {
  if (env.SVC_STATE_DIR) return [resolve(env.SVC_STATE_DIR)];
  const folders: string[] = [];
  for (let at = process.cwd(); ; at = dirname(at)) {
    folders.push(join(at, ".svc"));
    if (at === dirname(at)) return folders;
  }
}

/** A key is shown only to the service that it was kept for. */
function keptKey({ baseUrl, apiKey }: Config, url: Found, env: NodeJS.ProcessEnv): Found | null {
  const of = baseUrl ?? localUrl(env);
  return apiKey && sameOrigin(of, url.value) ? { value: apiKey, from: configPath(env) } : null;
}

const sameOrigin = (one: string, other: string): boolean =>
  URL.canParse(one) && new URL(one).origin === new URL(other).origin;

const pick = (value: string | undefined, from: string): Found | undefined =>
  value ? { value, from } : undefined;

function checkUrl({ value, from }: Found): void {
  if (/^https?:\/\//.test(value) && URL.canParse(value)) return;
  throw new UsageError(
    `${value} (${from}) is no URL of a service: write it as https://svc.example.com.`,
  );
}
