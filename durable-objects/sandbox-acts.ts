import type { Refusal } from "@svc/contract/errors.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { atMost } from "./deadline.ts";
import type { SandboxLife } from "./sandbox-life.ts";
import { type Admission, type Change, pause, resume } from "./sandbox-sleep.ts";
import { type Act, wantsPause } from "./states/sandbox-duties.ts";

/** What changes the state of a machine, one after the other. */
export class SandboxActs {
  readonly #env: Env;
  readonly #life: SandboxLife;

  constructor(env: Env, life: SandboxLife) {
    this.#env = env;
    this.#life = life;
  }

  /** What its lifecycle asks for. */
  async owed(act: Act): Promise<void> {
    switch (act) {
      case "pause":
        return this.#pauseIdle();
    }
  }

  /** Saves RAM and disk and frees its place; of one that is paused it is that. */
  pause(): Promise<{ paused: true } | Refusal> {
    return this.#life.lane.run(async () => {
      const sandbox = this.#life.tick();
      if (sandbox?.state.status !== "paused") {
        const refused = await this.#change(await pause(this.#env, sandbox));
        if (refused) return refused;
      }
      return { paused: true };
    });
  }

  /** Lets it run on, when it is paused and its org has a place for it. */
  resume(admission: Admission): Promise<{ resumed: true } | Refusal> {
    return this.#life.lane.run(async () => {
      const change = await resume(this.#env, this.#life.tick(), admission);
      const refused = await this.#change(change);
      // The place that it took is free again.
      if (refused) await this.#life.do("index");
      return refused ?? { resumed: true };
    });
  }

  /** Applies a change that the host has made, and has the org's list know it; or says why there is none. */
  async #change(change: Change): Promise<Refusal | null> {
    if ("refused" in change) return change;
    this.#life.apply(change.event, change.facts);
    await atMost(LIMITS.objectCallMs, this.#life.do("index")).catch(() => undefined);
    return null;
  }

  /** Pauses it because its idle window is over, unless it was used meanwhile. */
  #pauseIdle(): Promise<void> {
    return this.#life.lane.run(async () => {
      const sandbox = this.#life.tick();
      if (!sandbox || !wantsPause(sandbox.state)) return;
      const refused = await this.#change(await pause(this.#env, sandbox));
      // A host that cannot will not learn it: the machine is kept for a while.
      if (refused && refused.refused.code !== "HostCapabilityMissing")
        throw new Error(refused.refused.message);
    });
  }
}
