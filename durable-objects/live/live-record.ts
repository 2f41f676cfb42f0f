import { LIMITS } from "@svc/contract/limits.ts";
import { Lane, MachineCalls } from "../sandbox/machine-calls.ts";
import { perform } from "../sandbox/perform.ts";
import { SandboxStore } from "../sandbox/table.ts";
import { isInReach, type StoredSandbox } from "../sandbox/record.ts";
import type { SandboxEvent } from "../sandbox/state.ts";
import type { Act, Duty } from "../sandbox/duties.ts";

/** Does what a lifecycle asks of the machine; throws when it is to be tried again. */
export type ActOut = (act: Act) => Promise<void>;

/** The record of one live sandbox: events change it, what they oblige to is done and repeated until it is. */
export class SandboxLife {
  readonly store: SandboxStore;
  /** Calls to the machine that run now. */
  readonly calls = new MachineCalls();
  /** Acts on the machine go one after the other: a resume waits for the pause before it. */
  readonly lane = new Lane();
  readonly #ctx: DurableObjectState;
  readonly #env: Env;
  readonly #act: ActOut;
  /** Duties being done now, so that none is done twice at once. */
  readonly #work = new Map<string, Promise<void>>();

  constructor(ctx: DurableObjectState, env: Env, act: ActOut) {
    this.#ctx = ctx;
    this.#env = env;
    this.#act = act;
    this.store = new SandboxStore(ctx.storage);
  }

  load(): StoredSandbox | null {
    return this.store.load();
  }

  apply(event: SandboxEvent, facts?: Partial<StoredSandbox>): StoredSandbox | null {
    const applied = this.store.apply(event, Date.now(), facts);
    if (!applied) return null;
    const { sandbox, fresh } = applied;
    this.#ctx.waitUntil(this.store.rearm());
    for (const duty of fresh) this.#ctx.waitUntil(this.do(duty));
    if (!isInReach(sandbox)) this.calls.cut();
    return sandbox;
  }

  /** The sandbox as it is at this moment. */
  tick(): StoredSandbox | null {
    return this.apply({ type: "tick" });
  }

  use(): StoredSandbox | null {
    return this.apply({ type: "activity", at: Date.now() });
  }

  do(duty: Duty): Promise<void> {
    const sandbox = this.load();
    if (!sandbox) return Promise.resolve();
    const key = `${duty} ${sandbox.state.status}`;
    const work = this.#work.get(key) ?? this.#attempt(sandbox, duty);
    this.#work.set(key, work);
    return work.finally(() => this.#work.delete(key));
  }

  /** Does all that is still to be done: what is owed, and the machine while its host has not let go of it. */
  async settle({ owed, state }: StoredSandbox): Promise<void> {
    const left: Duty[] = state.status === "releasing" ? [...owed, "machine"] : owed;
    await Promise.all(left.map((duty) => this.do(duty)));
  }

  /** Has its host's object say whether the machine is there, when what is under way with it is over. */
  askHost(): void {
    this.store.owe("host", Date.now() + LIMITS.heartbeatMs, {});
    this.later(this.do("host"));
  }

  /** Work that goes on after the answer. */
  later(work: Promise<unknown>): void {
    this.#ctx.waitUntil(work);
  }

  async tidy(): Promise<void> {
    if (this.store.isDue(Date.now())) await this.store.erase();
    else await this.store.rearm();
  }

  async #attempt(sandbox: StoredSandbox, duty: Duty): Promise<void> {
    try {
      // What the host's object knows is compared with the answer to the last change.
      if (duty === "host") await this.lane.settled();
      const outcome = isAct(duty)
        ? await this.#act(duty)
        : await perform(this.#env, this.load() ?? sandbox, duty);
      if (duty !== "machine") this.store.done(duty, sandbox);
      if (outcome) this.apply(outcome);
    } catch (error) {
      const entry = { level: "error", event: "duty_failed", duty, error: String(error) };
      console.error(JSON.stringify(entry));
      if (duty !== "machine") this.store.retryLater(Date.now(), duty);
    }
    await this.tidy();
  }
}

const ACTS: readonly Duty[] = ["pause", "park", "checkpoint", "snapshot"] satisfies Act[];

const isAct = (duty: Duty): duty is Act => ACTS.includes(duty);
