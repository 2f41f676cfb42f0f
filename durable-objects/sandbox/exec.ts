import { type Refusal, refusal } from "@svc/contract/errors.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import type { Exec, ExecResult } from "@svc/contract/vm/exec.ts";
import type { VmMetrics } from "@svc/contract/vm/metrics.ts";
import type { SandboxLife } from "../live/live-record.ts";
import { type Asleep, asleepOrNotRunning, notRunning, noSandbox, unreachable } from "./pause.ts";
import { isOver, type StoredSandbox } from "./record.ts";
import type { Running } from "./state.ts";
import { execInVm, metricsOfVm } from "../host-calls/vms.ts";

/** Where a machine is, and whose. */
export interface Located {
  url: string;
  org: string;
}

/** The ways to use a machine. Most of them count as activity. */
export class SandboxUses {
  readonly #env: Env;
  readonly #life: SandboxLife;

  constructor(env: Env, life: SandboxLife) {
    this.#env = env;
    this.#life = life;
  }

  /** `gone`: aborted when nobody waits for the answer any more, which ends the command. */
  async exec(body: Exec, gone?: AbortSignal): Promise<{ result: ExecResult } | Refusal> {
    // What comes while it is being paused finds it paused.
    await this.#life.lane.settled();
    const sandbox = this.#life.use();
    const refused = notRunning(sandbox);
    if (!sandbox?.place || refused) return refused ?? noSandbox();
    const { url } = sandbox.place;
    const { state } = sandbox;
    const idleMs = state.status === "running" ? restlessMs(state) : LIMITS.idleLeastMs;
    const answer = await this.#life.calls.run(
      { idleMs, budgetMs: body.timeoutMs, ...(gone && { gone }) },
      () => this.#life.use(),
      (signal) => execInVm(this.#env, url, sandbox, body, signal),
    );
    if (answer.type === "ok") return { result: answer.value };
    if (answer.type === "missing") return refusal("NotRunning", "The machine has ended.");
    const after = this.#life.load();
    return after?.state.status === "paused" ? (notRunning(after) ?? unreachable()) : unreachable();
  }

  /** Where its machine is, for a request that the Worker itself takes there. */
  async locate(): Promise<Located | Refusal | Asleep> {
    await this.#life.lane.settled();
    const sandbox = this.#used();
    const refused = asleepOrNotRunning(sandbox);
    if (!sandbox?.place || refused) return refused ?? noSandbox();
    return { url: sandbox.place.url, org: sandbox.org };
  }

  /** The same for a preview. One that is refused is no use of the sandbox, and learns nothing of it. */
  async visit(port: number, hasToken: boolean): Promise<Located | Refusal | Asleep> {
    const sandbox = this.#life.tick();
    if (!sandbox || isOver(sandbox)) return noSandbox();
    if (hasToken || sandbox.publicPorts?.includes(port)) return this.locate();
    return refusal("PreviewTokenRequired", "The token of this preview is missing or has expired.");
  }

  /** Opens a port to everyone or closes it; without a wish it says how it is. */
  publish(port: number, wish?: boolean): { isPublic: boolean } | Refusal {
    const sandbox = this.#life.tick();
    if (!sandbox || isOver(sandbox)) return noSandbox();
    const { publicPorts } = sandbox;
    const others = (publicPorts ?? []).filter((other) => other !== port);
    const isPublic = wish ?? publicPorts?.includes(port) ?? false;
    const wanted = isPublic ? [...others, port] : others;
    if (wanted.length !== publicPorts?.length)
      this.#life.store.save({ ...sandbox, publicPorts: wanted });
    return { isPublic };
  }

  async metrics(): Promise<{ metrics: VmMetrics } | Refusal> {
    const sandbox = this.#life.tick();
    // A host that is away knows nothing of it: the document says 404.
    if (!sandbox?.place || notRunning(sandbox)) return noSandbox();
    const answer = await metricsOfVm(this.#env, sandbox.place.url, sandbox);
    if (answer.type === "ok") return { metrics: answer.value };
    return answer.type === "failed" ? unreachable() : noSandbox();
  }

  /** Use that may come many times a second: noted when it moves the deadline by enough to matter. */
  #used(): StoredSandbox | null {
    const sandbox = this.#life.tick();
    if (sandbox?.state.status !== "running") return sandbox;
    const { expiresAt, idleMs } = sandbox.state;
    const stepMs = Math.min(idleMs / 4, LIMITS.idleLeastMs);
    return Date.now() - (expiresAt - idleMs) < stepMs ? sandbox : this.#life.use();
  }
}

/** How long one may be left alone before something is done to it: to be parked comes long before its window ends. */
const restlessMs = ({ idleMs, habits: { parkAfterMs } }: Running): number =>
  Math.min(idleMs, parkAfterMs ?? idleMs);
