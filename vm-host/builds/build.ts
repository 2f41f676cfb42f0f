import { setTimeout as pause } from "node:timers/promises";
import type { BuildReport, BuildTemplate } from "@svc/contract/host-protocol/templates.ts";
import { isRefused } from "@svc/contract/control-channel/refusals.ts";
import { TEMPLATE_LIMITS } from "@svc/contract/vm/template-limits.ts";
import { type Log, messageOf } from "@svc/host-kit/log.ts";
import type { Capacity } from "../machines/capacity.ts";
import type { RecordKeeper } from "../records/keeper.ts";
import type { StoredRecord } from "../records/store.ts";
import { Vm } from "../machines/vm.ts";
import type { Base, Bases } from "./base.ts";
import { BuildLog } from "./log.ts";
import { type PlannedStep, planOf, type Setting, titleOf } from "./plan.ts";
import type { StepCache } from "./step-cache.ts";
import { StepError, StepRunner } from "./step-runner.ts";

const ROOM_POLL_MS = 2_000;
const CANCELLED = "The build was cancelled.";
const TOO_LONG = "The build took too long.";

/** How far a build is. */
type Progress = Pick<BuildReport, "state" | "step" | "error" | "got">;

/** What builds work with. */
export interface BuildTools {
  bases: Bases;
  steps: StepCache;
  keeper: RecordKeeper;
  capacity: Capacity;
  log: Log;
}

/** One build: a machine of its own that runs the steps, and becomes the template's record. */
export class Build {
  readonly id: string;
  readonly log = new BuildLog();
  /** When the gateway last asked. */
  askedAt = performance.now();
  readonly #ask: BuildTemplate;
  readonly #tools: BuildTools;
  readonly #stop = new AbortController();
  #state: Progress = { state: "queued", step: 0 };

  constructor(id: string, ask: BuildTemplate, tools: BuildTools) {
    this.id = id;
    this.#ask = ask;
    this.#tools = tools;
  }

  get isOver(): boolean {
    const { state } = this.#state;
    return state === "ready" || state === "failed";
  }

  report(offset: number): BuildReport {
    return { ...this.#state, ...this.log.page(offset) };
  }

  /** Ends it at once. */
  cancel(why = CANCELLED): void {
    this.#stop.abort(new StepError(this.#state.step, why));
    this.log.wake();
  }

  /** Does all of it. Never rejects: how it went is in the report. */
  async run(): Promise<void> {
    const late = setTimeout(() => this.cancel(TOO_LONG), TEMPLATE_LIMITS.buildMs);
    try {
      this.#stop.signal.throwIfAborted();
      const stored = await this.#build();
      const { cpu, memMb, diskGb, sizeBytes } = stored.record;
      const got = { cpu, memMb, diskGb, sizeBytes };
      this.#become({ state: "ready", step: this.#ask.steps.length, got });
    } catch (error) {
      this.#fail(error);
    } finally {
      clearTimeout(late);
    }
  }

  #fail(error: unknown): void {
    // Whatever broke when it was told to end broke for that.
    const { aborted, reason } = this.#stop.signal;
    const why: unknown = aborted ? reason : error;
    const { step } = this.#state;
    const at = why instanceof StepError ? why.step : step + 1;
    const message = isRefused(why, "Disconnected") ? "The machine died." : messageOf(why);
    if (!(why instanceof StepError)) this.#tools.log.warn({ reason: message }, "build_failed");
    this.#become({ state: "failed", step, error: { step: at, message: message.slice(0, 2_000) } });
  }

  #become(state: Progress): void {
    this.#state = state;
    this.log.wake();
  }

  #say(step: number, line: string): void {
    this.log.write(step, "system", line);
  }

  async #build(): Promise<StoredRecord> {
    const base = await this.#tools.bases.of(this.#ask);
    const giveBack = await this.#claim(base);
    try {
      const { steps, last } = planOf(base.key, this.#ask.steps, base.setting);
      const { vm, done } = await this.#begin(base, steps);
      vm.guest.breaches.tell = (breach) => this.#tools.log.warn(breach, "guest_broke_contract");
      const ending = (): void => void vm.machine.destroy();
      this.#stop.signal.addEventListener("abort", ending);
      try {
        this.#stop.signal.throwIfAborted();
        await vm.machine.yield();
        this.#become({ state: "building", step: done });
        return await this.#work(vm, { steps, last, done });
      } finally {
        this.#stop.signal.removeEventListener("abort", ending);
        await vm.machine.destroy();
      }
    } finally {
      giveBack();
    }
  }

  /** Takes capacity, or waits for it: creates come first. */
  async #claim({ spec }: Base): Promise<() => void> {
    for (let isTold = false; ; isTold = true) {
      const taken = this.#tools.capacity.take(spec);
      if (typeof taken !== "string") return taken;
      if (!isTold) this.#say(0, "There is no room on the host yet.");
      await pause(ROOM_POLL_MS, null, { signal: this.#stop.signal });
    }
  }

  /** The machine after as many steps as the cache has results of; none of the other steps has been run. */
  async #begin(base: Base, steps: PlannedStep[]): Promise<{ vm: Vm; done: number }> {
    const { bases, steps: cache } = this.#tools;
    const candidates = this.#ask.skipCache
      ? []
      : steps.filter(({ isLight }) => !isLight).toReversed();
    for (const { key, number } of candidates) {
      const known = await cache.find(key);
      const started = known && (await bases.from(known).catch(() => null));
      if (started) {
        for (const { step, number: at } of steps.slice(0, number))
          this.#say(at, `cached: ${titleOf(step)}`);
        return { vm: this.#owned(started, base), done: number };
      }
      // No machine can go on from it any more: its golden machine is gone, or the host's QEMU is another one.
      if (known) await cache.drop(key);
    }
    this.#stop.signal.throwIfAborted();
    return { vm: this.#owned(await base.make(), base), done: 0 };
  }

  #owned(started: { machine: Vm["machine"]; guest: Vm["guest"] }, { spec }: Base): Vm {
    const { cpu, memMb } = spec;
    const { diskGb } = started.machine;
    const enforcement = { cpu: "vm", memMb: "vm" } as const;
    const sizes = { cpu, memMb, diskGb, isolation: "dedicated", enforcement } as const;
    return new Vm(this.id, started.machine, started.guest, {
      ...sizes,
      how: "clone",
      acquiredMs: 0,
    });
  }

  async #work(
    vm: Vm,
    { steps, last, done }: { steps: PlannedStep[]; last: Setting; done: number },
  ): Promise<StoredRecord> {
    const runner = new StepRunner(vm.guest, this.log, this.#stop.signal);
    for (const planned of steps.slice(done)) {
      const { number, step, key, isLight } = planned;
      this.#say(number, titleOf(step));
      await runner.run(planned);
      if (!isLight) await this.#tools.steps.keep(vm, key);
      this.#become({ state: "building", step: number });
    }
    const { start } = this.#ask;
    const after = steps.length + 1;
    if (start) {
      this.#say(after, `start ${start.cmd}`);
      await runner.start(after, start, last);
    }
    this.#say(after, "saving");
    await this.#warm(vm);
    return this.#save(vm, last);
  }

  /** Steps may have brought what the waiting Python has loaded already. Without one the template is whole, its first code slower. */
  async #warm({ guest }: Vm): Promise<void> {
    await guest.warm().catch((error: unknown) => {
      this.#tools.log.warn({ reason: messageOf(error) }, "template_python_not_warm");
    });
  }

  /** The machine ends as the record of the template. */
  async #save(vm: Vm, { envs, cwd, user }: Setting): Promise<StoredRecord> {
    const { keeper, log } = this.#tools;
    const { self } = vm.guest;
    self.envs = envs;
    if (cwd !== undefined) self.cwd = cwd;
    if (user !== undefined) self.user = user;
    vm.org = this.#ask.org;
    const { stored } = await keeper.take(vm, { kind: "snapshot", id: this.id, isLive: false });
    await vm.machine.quit();
    // Machines of the template share its pages from the first machine on; without that each takes its own.
    await keeper.promote(stored).catch((error: unknown) => {
      log.warn({ reason: messageOf(error) }, "template_pages_not_shared");
    });
    return stored;
  }
}
