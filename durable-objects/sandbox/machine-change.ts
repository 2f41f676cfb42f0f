import type { Refusal } from "@svc/contract/errors.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { atMost } from "../live/deadline.ts";
import type { SandboxLife } from "../live/live-record.ts";
import type { Snapshot } from "../../control-plane/snapshots.ts";
import { resume } from "./resume.ts";
import { type Admission, type Change, pause, recordAt } from "./pause.ts";
import {
  breakOff,
  revert,
  type RevertOrder,
  type SnapshotOrder,
  takeSnapshot,
} from "./snapshot.ts";
import type { StoredSandbox } from "./record.ts";
import { type Act, parkedSince, wantsCheckpoint, wantsPause } from "./duties.ts";
import { actOnVm } from "../host-calls/vm-states.ts";

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
      case "park":
        return this.#park();
      case "checkpoint":
        return this.#checkpoint();
      case "snapshot":
        return this.#life.lane.run(() => breakOff(this.#env, this.#life));
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
      const change = await resume(this.#env, this.#life.tick(), admission, (movingTo) =>
        this.#note({ movingTo }),
      );
      const refused = await this.#change(change);
      // The place that it took is free again.
      if (refused) await this.#life.do("index");
      return refused ?? { resumed: true };
    });
  }

  /** Keeps it as it is at this moment. */
  snapshot(order: SnapshotOrder): Promise<{ snapshot: Snapshot } | Refusal> {
    return this.#life.lane.run(() => takeSnapshot(this.#env, this.#life, order));
  }

  /** Lets it go on from a snapshot of its own. */
  revert(order: RevertOrder): Promise<{ reverted: true } | Refusal> {
    return this.#life.lane.run(async () => {
      const change = await revert(this.#env, this.#life.tick(), order);
      const refused = await this.#change(change);
      if (refused) await this.#life.do("index");
      return refused ?? { reverted: true };
    });
  }

  #note(facts: Partial<StoredSandbox>): void {
    const sandbox = this.#life.load();
    if (sandbox) this.#life.store.save({ ...sandbox, ...facts });
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

  /** Lets its processors stand still until the next request, which wakes them by itself. */
  #park(): Promise<void> {
    return this.#life.lane.run(async () => {
      const sandbox = this.#life.tick();
      if (!sandbox?.place || parkedSince(sandbox.state) === null) return;
      // Callers wait for what is in the lane. One that was not parked in time is left as it is.
      const mostMs = sandbox.parkMaxMs ?? LIMITS.parkMaxMs;
      await actOnVm(this.#env, sandbox.place.url, sandbox, "park", undefined, mostMs);
    });
  }

  /** Has its host keep it as it is, in case that host dies. */
  #checkpoint(): Promise<void> {
    return this.#life.lane.run(async () => {
      const sandbox = this.#life.tick();
      if (!sandbox?.place || !wantsCheckpoint(sandbox.state)) return;
      const answer = await actOnVm(this.#env, sandbox.place.url, sandbox, "checkpoint");
      if (answer.type !== "ok") throw new Error(`the checkpoint was not taken: ${answer.type}`);
      const { bootId, seq, recordId: id, durable: isDurable = false } = answer.value;
      const place = { ...sandbox.place, bootId, seq };
      const record = await recordAt(this.#env, place, id, isDurable);
      this.#life.apply({ type: "checkpointed", at: Date.now(), isDurable }, { place, record });
    });
  }
}
