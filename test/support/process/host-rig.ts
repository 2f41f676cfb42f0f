import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { mintHostBearer } from "@svc/contract/tokens.ts";
import { Ready } from "@svc/host-kit/start-messages.ts";
import { HOST_TOKEN } from "../secrets.ts";

const MINUTE = 60_000;
/** A host has time to stop, on a computer however busy; one that takes longer ends with 1. */
export const STOP_MS = 90_000;

export interface HostStart {
  /** Arguments of Node: flags and the program. */
  args: string[];
  stateDir: string;
  gatewayUrl: string;
  env: NodeJS.ProcessEnv;
  /** Another user than the one of the tests. */
  uid?: number;
}

/** A host process that has said that it is ready. */
export interface StartedHost {
  child: ChildProcess;
  ready: Ready;
  /** What it has written to stderr so far. */
  output: { text: string };
}

/** Starts a host process and waits until it is ready. Rejects with its stderr when it ends before. */
export async function startHost({
  args,
  stateDir,
  gatewayUrl,
  env,
  uid,
}: HostStart): Promise<StartedHost> {
  const child = spawn(process.execPath, args, {
    stdio: ["ignore", "inherit", "pipe", "ipc"],
    ...(uid !== undefined && { uid, gid: uid }),
    env: {
      ...process.env,
      SVC_GATEWAY_URL: gatewayUrl,
      SVC_HOST_TOKEN: HOST_TOKEN,
      SVC_STATE_DIR: stateDir,
      SVC_STOP_MS: String(STOP_MS),
      ...env,
    },
  });
  const output = { text: "" };
  child.stderr?.on("data", (text) => (output.text += String(text)));
  const ended = once(child, "exit").then(() =>
    Promise.reject(new Error(`no start: ${output.text}`)),
  );
  const [ready] = await Promise.race([once(child, "message"), ended]);
  ended.catch(() => {});
  return { child, ready: Ready.parse(ready), output };
}

/** A real host process, joined to a tiny gateway, called as its gateway would. */
export class HostRig<Gateway extends { stop(): Promise<void> }> {
  readonly gateway: Gateway;
  readonly child: ChildProcess;
  readonly stateDir: string;
  readonly ready: Ready;
  readonly #output: { text: string };

  constructor(gateway: Gateway, stateDir: string, { child, ready, output }: StartedHost) {
    this.gateway = gateway;
    this.stateDir = stateDir;
    this.child = child;
    this.ready = ready;
    this.#output = output;
  }

  get stderr(): string {
    return this.#output.text;
  }

  /** Whether the process has ended. */
  get isOver(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  /** Ends the host as the supervisor does, and forgets its folder. */
  async stop(): Promise<void> {
    await this.end("SIGTERM");
    await this.gateway.stop();
    await rm(this.stateDir, { recursive: true, force: true });
  }

  async end(signal: NodeJS.Signals): Promise<number | null> {
    if (this.isOver) return this.child.exitCode;
    this.child.kill(signal);
    const [code] = await once(this.child, "exit");
    return code;
  }

  async call(
    method: string,
    path: string,
    id: string,
    body?: object,
    init?: RequestInit,
  ): Promise<Response> {
    return fetch(new URL(path, this.ready.url), {
      method,
      headers: { authorization: `Bearer ${await bearer(id)}` },
      ...(body && { body: JSON.stringify(body) }),
      ...init,
    });
  }

  /** The URL and headers of a socket, as the gateway would call them. */
  protected async socketAt(
    path: string,
    id: string,
  ): Promise<{ url: string; headers: Record<string, string> }> {
    const url = new URL(path, this.ready.url);
    url.protocol = "ws:";
    return { url: url.href, headers: { authorization: `Bearer ${await bearer(id)}` } };
  }
}

/** The gateway's bearer for an id. What follows an `@` in the id names another org than the usual one. */
export function bearer(id: string, expiresAt = Date.now() + MINUTE): Promise<string> {
  const [, org = "org_test"] = id.split("@");
  return mintHostBearer(HOST_TOKEN, { org, id, expiresAt });
}
