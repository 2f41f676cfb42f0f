import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { writeAgent } from "../../../scripts/bundle-agent.ts";
import type { TestGateway } from "./gateway.ts";
import { descendants } from "./process-tree.ts";

const MAIN = fileURLToPath(new URL("../../../vm-host/main.ts", import.meta.url));
const AGENT = fileURLToPath(new URL("../../../dist/guest-agent/agent.mjs", import.meta.url));
/** Hosts share what Node has compiled of their sources. */
export const COMPILED = join(tmpdir(), "svc-compiled");

let agent: Promise<string> | undefined;

/** Writes the agent's bundle, once: its sources do not change while a file of tests runs. */
export const bundledAgent = (): Promise<string> => (agent ??= writeAgent(AGENT));

/** A real VM host in a process of its own, registered with a gateway. */
export class VmHostProcess {
  #child: ChildProcess;
  readonly #env: NodeJS.ProcessEnv;
  readonly #stateDir: string;

  private constructor(stateDir: string, env: NodeJS.ProcessEnv) {
    this.#stateDir = stateDir;
    this.#env = env;
    this.#child = start(env);
  }

  static async start(
    gateway: TestGateway,
    hostId = "vm-local",
    env: Record<string, string> = {},
  ): Promise<VmHostProcess> {
    await bundledAgent();
    const stateDir = await mkdtemp(join(tmpdir(), "svc-"));
    const host = new VmHostProcess(stateDir, {
      ...process.env,
      NODE_COMPILE_CACHE: COMPILED,
      SVC_GATEWAY_URL: gateway.url.origin,
      SVC_HOST_TOKEN: gateway.hostToken,
      SVC_STATE_DIR: stateDir,
      SVC_HOST_ID: hostId,
      SVC_BUILD_IMAGES: "0",
      SVC_WARM_VM: "1",
      SVC_WARM_DESKTOP: "0",
      // However busy this computer is.
      SVC_STOP_MS: "90000",
      SVC_LOG_LEVEL: "warn",
      ...env,
    });
    await host.ready();
    return host;
  }

  async ready(): Promise<void> {
    const child = this.#child;
    const ended = once(child, "exit").then(([code]) => {
      throw new Error(`the VM host ended with ${code} while it started`);
    });
    ended.catch(() => null);
    await Promise.race([once(child, "message"), ended]);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Pids of its machines. */
  async machines(): Promise<number[]> {
    const root = this.#child.pid;
    return root === undefined ? [] : descendants(root, "qemu-system");
  }

  /** Another start of the same host. */
  async restart(): Promise<void> {
    this.#child = start(this.#env);
    await this.ready();
  }

  async kill(signal: NodeJS.Signals): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const gone = once(this.#child, "exit");
    this.#child.kill(signal);
    await gone;
  }

  async close(): Promise<void> {
    await this.kill("SIGTERM");
    await rm(this.#stateDir, { recursive: true, force: true });
  }
}

const start = (env: NodeJS.ProcessEnv): ChildProcess =>
  spawn(process.execPath, [MAIN], { env, stdio: ["ignore", "inherit", "inherit", "ipc"] });
