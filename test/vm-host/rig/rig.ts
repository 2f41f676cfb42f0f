import { mkdtemp, readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type PlaceVm, VmPlaced } from "@svc/contract/host-protocol/vms.ts";
import { type Exec, ExecResult } from "@svc/contract/vm/exec.ts";
import { cacheDirOf } from "../../../vm-host/config.ts";
import { HostRig, type StartedHost, startHost } from "../../support/process/host-rig.ts";
import { COMPILED, bundledAgent } from "../../support/process/vm-host.ts";
import { Gateway } from "./gateway.ts";
import type { Objects } from "./objects.ts";

const MAIN = fileURLToPath(new URL("../../../vm-host/main.ts", import.meta.url));
const MINUTE = 60_000;
/** So often a machine of a size is asked for until it is a clone. */
const TEMPLATE_TRIES = 20;
const LOOK_MS = 250;

export interface RigOptions {
  env?: Record<string, string>;
  /** A state folder that outlives this host. */
  stateDir?: string;
  /** A store that other hosts have, too. */
  objects?: Objects;
}

/** A real VM host process, joined to a tiny gateway. */
export class Rig extends HostRig<Gateway> {
  readonly #cacheDir: string;

  private constructor(gateway: Gateway, stateDir: string, cacheDir: string, started: StartedHost) {
    super(gateway, stateDir, started);
    this.#cacheDir = cacheDir;
  }

  static async start({ env = {}, objects, ...own }: RigOptions = {}): Promise<Rig> {
    await bundledAgent();
    const gateway = new Gateway(objects);
    const gatewayUrl = await gateway.start();
    const stateDir = own.stateDir ?? (await mkdtemp(join(tmpdir(), "vmrig-")));
    const cacheDir = env["SVC_CACHE_DIR"] ?? cacheDirOf(process.env);
    const started = await startHost({
      args: [MAIN],
      stateDir,
      gatewayUrl,
      env: {
        NODE_COMPILE_CACHE: COMPILED,
        SVC_CACHE_DIR: cacheDir,
        SVC_WARM_VM: "0",
        SVC_WARM_DESKTOP: "0",
        // None is stored by the clock, in the middle of what a test looks at, unless it is asked for.
        SVC_VOLUME_SYNC_MS: String(60 * MINUTE),
        SVC_BUILD_IMAGES: "0",
        ...env,
      },
    });
    return new Rig(gateway, stateDir, cacheDir, started);
  }

  /** Ends the host as the supervisor does, and forgets its folder. Its machines go first: none is paused for nobody. */
  override async stop(): Promise<void> {
    await this.#deleteAll();
    await super.stop();
  }

  /** Ends all machines that the host has told of, unless the host has ended. */
  async #deleteAll(): Promise<void> {
    if (this.isOver) return;
    const ids = this.gateway.last?.vms.map(({ id }) => id) ?? [];
    await Promise.all(ids.map((id) => this.delete(id).catch(() => null)));
  }

  /** Waits until machines can be made. */
  async able(): Promise<void> {
    await this.gateway.beat((beat) => beat.accel !== undefined && beat.hint === undefined);
  }

  /** Waits until a template that was missing is built. */
  async template(cpu = 2, memMb = 512): Promise<void> {
    for (let tries = 0; tries < TEMPLATE_TRIES; tries += 1) {
      const before = await this.#templates();
      const id = `probe-${tries}`;
      const { how } = await this.place(id, { cpu, memMb });
      await this.delete(id);
      if (how !== "boot") return;
      await this.#oneMore(before);
    }
    throw new Error(`no template: ${this.stderr}`);
  }

  /** A while, or until there is one that was not there: to boot another machine meanwhile would only hold it up. */
  async #oneMore(before: string[]): Promise<void> {
    const until = Date.now() + MINUTE;
    while (Date.now() < until) {
      if ((await this.#templates()).some((name) => !before.includes(name))) return;
      await pause(LOOK_MS);
    }
  }

  /** Names of templates in its cache, which others may have, too. */
  async #templates(): Promise<string[]> {
    const names = await readdir(join(this.#cacheDir, "templates")).catch(() => []);
    return names.filter((name) => !name.includes("."));
  }

  put(id: string, ask: Partial<PlaceVm> = {}): Promise<Response> {
    return this.call("PUT", pathOf(id), id, { ...PLAIN, ...ask });
  }

  async place(id: string, ask: Partial<PlaceVm> = {}): Promise<VmPlaced> {
    const response = await this.put(id, ask);
    if (response.status !== 201)
      throw new Error(`${response.status} ${await response.text()} ${this.stderr.slice(-1_000)}`);
    return VmPlaced.parse(await response.json());
  }

  delete(id: string): Promise<Response> {
    return this.call("DELETE", pathOf(id), id);
  }

  async exec(id: string, cmd: string, args: string[] = [], rest: Partial<Exec> = {}) {
    const response = await this.call("POST", `${pathOf(id)}/exec`, id, { cmd, args, ...rest });
    if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
    return ExecResult.parse(await response.json());
  }

  /** What a shell line prints, both streams. */
  async sh(id: string, line: string, timeoutMs = 2 * MINUTE): Promise<string> {
    const { stdout, stderr } = await this.exec(id, "sh", ["-c", line], { timeoutMs });
    return `${stdout}${stderr}`.trim();
  }

  /** The URL and headers of a socket, as the gateway would call them. */
  socket(id: string, rest = "control") {
    return this.socketAt(`${pathOf(id)}/${rest}`, id);
  }
}

export const PLAIN: PlaceVm = {
  kind: "sandbox",
  source: { type: "image", name: "base" },
  isolation: "dedicated",
  cpu: 2,
  memMb: 512,
  diskGb: 4,
  envs: {},
};

export const pathOf = (id: string): string => `/vms/${encodeURIComponent(id)}`;
