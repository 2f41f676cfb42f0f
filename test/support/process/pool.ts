import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { constants, gunzipSync } from "node:zlib";
import { permissionFlags } from "../../../browser-pool/permissions.ts";
import type { TestGateway } from "./gateway.ts";
import { descendants } from "./process-tree.ts";

/** A real pool in a process of its own, registered with a gateway. */
export class PoolProcess {
  readonly hostId: string;
  #child: ChildProcess;
  readonly #env: NodeJS.ProcessEnv;
  readonly #stateDir: string;

  private constructor(hostId: string, stateDir: string, env: NodeJS.ProcessEnv) {
    this.hostId = hostId;
    this.#stateDir = stateDir;
    this.#env = env;
    this.#child = start(stateDir, env);
  }

  static async start(gateway: TestGateway, env: Record<string, string>): Promise<PoolProcess> {
    const stateDir = await mkdtemp(join(tmpdir(), "svc-"));
    const hostId = env["SVC_HOST_ID"] ?? "pool-test";
    const pool = new PoolProcess(hostId, stateDir, {
      ...process.env,
      SVC_GATEWAY_URL: gateway.url.origin,
      SVC_HOST_TOKEN: gateway.hostToken,
      SVC_STATE_DIR: stateDir,
      SVC_HOST_ID: hostId,
      // However busy this computer is.
      SVC_STOP_MS: "90000",
      SVC_LOG_LEVEL: "warn",
      SVC_WARM_STEALTH: "0",
      ...env,
    });
    await pool.ready();
    return pool;
  }

  /** Pids of everything it has started whose command line has this text, the oldest first. */
  async processes(text: string): Promise<number[]> {
    const root = this.#child.pid;
    return root === undefined ? [] : descendants(root, text);
  }

  /** What can be read of the replays on its disk, also of those that are being written. */
  async recordedText(): Promise<string> {
    const texts = (await this.#replays()).map(async (path) => {
      const bytes = await readFile(path);
      return gunzipSync(bytes, { finishFlush: constants.Z_SYNC_FLUSH }).toString();
    });
    return (await Promise.all(texts)).join("");
  }

  /** How many finished replays lie on its disk. */
  async waitingReplays(): Promise<number> {
    return (await this.#replays()).filter((path) => path.endsWith(".gz")).length;
  }

  async #replays(): Promise<string[]> {
    const folder = join(this.#stateDir, "pool", "recordings");
    const names = await readdir(folder, { recursive: true });
    return names.filter((name) => name.includes("~")).map((name) => join(folder, name));
  }

  async ready(): Promise<void> {
    const child = this.#child;
    const gone = new AbortController();
    child.once("exit", () => gone.abort(new Error("the pool ended before it was ready")));
    await once(child, "message", { signal: gone.signal });
  }

  /** Another start of the same host. */
  async restart(): Promise<void> {
    this.#child = start(this.#stateDir, this.#env);
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

function start(stateDir: string, env: NodeJS.ProcessEnv): ChildProcess {
  return spawn(
    process.execPath,
    [...permissionFlags(stateDir, env["TMPDIR"]), "browser-pool/main.ts"],
    {
      env,
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    },
  );
}
