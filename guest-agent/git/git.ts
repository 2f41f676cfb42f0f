import type { GitCredentials } from "@svc/contract/control-channel/git-methods.ts";
import { refuse } from "@svc/contract/control-channel/refusals.ts";
import { RPC_CODES, RpcError } from "@svc/contract/control-channel/rpc-error.ts";
import type { Commands } from "../commands/commands.ts";
import { foreground } from "../commands/foreground.ts";

const OUTPUT_BYTES = 8 * 1024 * 1024;
const TOLD_CHARACTERS = 2_000;
const NO_AUTH =
  /authentication failed|could not read (username|password)|permission denied \(publickey|error: 40[13]/i;
const CONFLICT =
  /conflict|non-fast-forward|fetch first|would be overwritten|unmerged|not possible to fast-forward|diverg/i;

/** One call of git. */
export interface GitCall {
  signal: AbortSignal;
  timeoutMs?: number | undefined;
  cwd?: string;
  env?: Record<string, string>;
  /** For which address these are. */
  auth?: { url: string; credentials: GitCredentials } | undefined;
}

/** Runs git and returns what it prints. Rejects with the refusals of the namespace. */
export async function git(commands: Commands, args: string[], call: GitCall): Promise<string> {
  const { signal, timeoutMs, cwd, auth } = call;
  const env = { ...QUIET, ...call.env, ...settings(auth) };
  const command = { cmd: "git", args, env, ...(cwd !== undefined && { cwd }) };
  const running = await commands.run(command, "none");
  const kept: Record<1 | 2, Buffer[]> = { 1: [], 2: [] };
  let room = OUTPUT_BYTES;
  const exit = await foreground(running, timeoutMs, {
    from: 0,
    signal,
    take: (channel, bytes) => {
      kept[channel].push(bytes.subarray(0, room));
      room -= Math.min(room, bytes.length);
      return true;
    },
  });
  signal.throwIfAborted();
  if (exit.timedOut) throw new RpcError(RPC_CODES.timedOut, "git took longer than it was given.");
  const stdout = Buffer.concat(kept[1]).toString();
  if (exit.exitCode !== 0) throw refusalOf(`${Buffer.concat(kept[2]).toString()}${stdout}`);
  return stdout;
}

const QUIET = {
  // Nobody sits at a terminal to answer, and messages are told apart by their English.
  GIT_TERMINAL_PROMPT: "0",
  GIT_ASKPASS: "true",
  GIT_SSH_COMMAND: "ssh -o BatchMode=yes -o StrictHostKeyChecking=accept-new",
  LC_ALL: "C.UTF-8",
  // Where no identity is configured; a configured one wins.
  EMAIL: "root@localhost",
};

/** Settings of one call, handed over in the environment: they are in no file and in no list of processes. */
function settings(auth: GitCall["auth"]): Record<string, string> {
  const pairs: [string, string][] = [["safe.directory", "*"]];
  if (auth)
    pairs.push([`url.${spliced(auth.url, auth.credentials)}.insteadOf`, originOf(auth.url)]);
  const numbered = pairs.flatMap(([key, value], at) => [
    [`GIT_CONFIG_KEY_${at}`, key],
    [`GIT_CONFIG_VALUE_${at}`, value],
  ]);
  return { GIT_CONFIG_COUNT: String(pairs.length), ...Object.fromEntries(numbered) };
}

function originOf(url: string): string {
  return `${parsed(url).origin}/`;
}

function spliced(url: string, { username, password }: GitCredentials): string {
  const { protocol, host } = parsed(url);
  const who = `${encodeURIComponent(username)}:${encodeURIComponent(password)}`;
  return `${protocol}//${who}@${host}/`;
}

function parsed(url: string): URL {
  const found = URL.parse(url);
  if (found?.protocol === "https:" || found?.protocol === "http:") return found;
  const message = "credentials: they serve for an address of http or https only";
  throw new RpcError(RPC_CODES.params, message, { field: "credentials" });
}

function refusalOf(said: string): RpcError {
  // An address with credentials may be told back.
  const told = said
    .replaceAll(/\/\/[^/@\s]*@/g, "//")
    .trim()
    .slice(-TOLD_CHARACTERS);
  if (NO_AUTH.test(told)) return refuse("GitAuthFailed", told);
  return refuse(CONFLICT.test(told) ? "GitConflict" : "GitFailed", told);
}
