import { setTimeout as pause } from "node:timers/promises";
import type { BuildReport, BuildTemplate } from "@svc/contract/host-protocol/templates.ts";
import { isRefused } from "@svc/contract/control-channel/rpc-error.ts";
import { TEMPLATE_LIMITS } from "@svc/contract/vm/template-limits.ts";
import { type Log, messageOf } from "@svc/host-kit/log.ts";
import type { Capacity } from "../machines/capacity.ts";
import type { RecordKeeper } from "../snapshots/keeper.ts";
import type { Kept } from "../snapshots/store.ts";
import { Vm } from "../machines/vm.ts";
import type { Base, Bases } from "./base.ts";
import type { LayerCache } from "./layers.ts";
import { BuildLog } from "./log.ts";
import { StepError, Workshop } from "./machine.ts";
import { type PlannedStep, planOf, type Setting, titleOf } from "./plan.ts";

const ROOM_POLL_MS = 2_000;
const CANCELLED = "The build was cancelled.";
const TOO_LONG = "The build took too long.";

/** How far a build is. */
type Progress = Pick<BuildReport, "state" | "step" | "error" | "got">;

/** What builds need of their host. */
export interface BuildMeans {
  bases: Bases;
  layers: LayerCache;
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
  readonly #stop = new AbortController();
  #state: Progress = { state: "queued", step: 0 };

  constructor(id: string, ask: BuildTemplate) {
    this.id = id;
    this.#ask = ask;
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
  async run(means: BuildMeans): Promise<void> {
    const late = setTimeout(() => this.cancel(TOO_LONG), TEMPLATE_LIMITS.buildMs);
    try {
      this.#stop.signal.throwIfAborted();
      const kept = await this.#build(means);
      const { cpu, memMb, diskGb, sizeBytes } = kept.record;
      const got = { cpu, memMb, diskGb, sizeBytes };
      this.#become({ state: "ready", step: this.#ask.steps.length, got });
    } catch (error) {
      this.#fail(error, means.log);
    } finally {
      clearTimeout(late);
    }
  }

  #fail(error: unknown, log: Log): void {
    // Whatever broke when it was told to end broke for that.
    const { aborted, reason } = this.#stop.signal;
    const why: unknown = aborted ? reason : error;
    const { step } = this.#state;
    const at = why instanceof StepError ? why.step : step + 1;
    const message = isRefused(why, "Disconnected") ? "The machine died." : messageOf(why);
    if (!(why instanceof StepError)) log.warn({ reason: message }, "a build broke off");
    this.#become({ state: "failed", step, error: { step: at, message: message.slice(0, 2_000) } });
  }

  #become(state: Progress): void {
    this.#state = state;
    this.log.wake();
  }

  #say(step: number, line: string): void {
    this.log.write(step, "system", line);
  }

  async #build(means: BuildMeans): Promise<Kept> {
    const base = await means.bases.of(this.#ask);
    const room = await this.#room(means.capacity, base);
    try {
      const { steps, last } = planOf(base.key, this.#ask.steps, base.setting);
      const { vm, done } = await this.#begin(means, base, steps);
      const ending = (): void => void vm.machine.destroy();
      this.#stop.signal.addEventListener("abort", ending);
      try {
        this.#stop.signal.throwIfAborted();
        await vm.machine.yield();
        this.#become({ state: "building", step: done });
        return await this.#work(means, vm, { steps, last, done });
      } finally {
        this.#stop.signal.removeEventListener("abort", ending);
        await vm.machine.destroy();
      }
    } finally {
      room();
    }
  }

  /** Takes room, or waits for it: creates come first. */
  async #room(capacity: Capacity, { spec }: Base): Promise<() => void> {
    for (let isTold = false; ; isTold = true) {
      const room = capacity.take(spec);
      if (typeof room !== "string") return room;
      if (!isTold) this.#say(0, "There is no room on the host yet.");
      await pause(ROOM_POLL_MS, null, { signal: this.#stop.signal });
    }
  }

  /** The machine after as many steps as there are layers of; of the rest none has been run. */
  async #begin(
    { bases, layers }: BuildMeans,
    base: Base,
    steps: PlannedStep[],
  ): Promise<{ vm: Vm; done: number }> {
    const candidates = this.#ask.skipCache
      ? []
      : steps.filter(({ isLight }) => !isLight).toReversed();
    for (const { key, number } of candidates) {
      const layer = await layers.find(key);
      const started = layer && (await bases.from(layer).catch(() => null));
      if (started) {
        for (const { step, number: at } of steps.slice(0, number))
          this.#say(at, `cached: ${titleOf(step)}`);
        return { vm: this.#owned(started, base), done: number };
      }
      // It cannot go on here any more: its template is gone, or the host's QEMU is another one.
      if (layer) await layers.drop(key);
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
    means: BuildMeans,
    vm: Vm,
    { steps, last, done }: { steps: PlannedStep[]; last: Setting; done: number },
  ): Promise<Kept> {
    const { layers } = means;
    const workshop = new Workshop(vm.guest, this.log, this.#stop.signal);
    for (const planned of steps.slice(done)) {
      const { number, step, key, isLight } = planned;
      this.#say(number, titleOf(step));
      await workshop.run(planned);
      if (!isLight) await layers.keep(vm, key);
      this.#become({ state: "building", step: number });
    }
    const { start } = this.#ask;
    const after = steps.length + 1;
    if (start) {
      this.#say(after, `start ${start.cmd}`);
      await workshop.start(after, start, last);
    }
    this.#say(after, "saving");
    return this.#save(means, vm, last);
  }

  /** The machine ends as the record of the template. */
  async #save({ keeper, log }: BuildMeans, vm: Vm, { envs, cwd, user }: Setting): Promise<Kept> {
    const { self } = vm.guest;
    self.envs = envs;
    if (cwd !== undefined) self.cwd = cwd;
    if (user !== undefined) self.user = user;
    vm.org = this.#ask.org;
    const { kept } = await keeper.take(vm, { kind: "snapshot", id: this.id, isLive: false });
    await vm.machine.quit();
    // Machines of it share its pages from the first one on; without that each one takes its own.
    await keeper.promote(kept).catch((error: unknown) => {
      log.warn({ reason: messageOf(error) }, "a template's pages will not be shared");
    });
    return kept;
  }
}
