import { RUN_RESULTS_BYTES, RUN_RESULTS_MAX } from "@svc/contract/control-channel/code-methods.ts";
import { refuse } from "@svc/contract/control-channel/refusals.ts";
import { randomText } from "@svc/contract/ids.ts";
import { type Cell, type ResultRoom, Run } from "./run.ts";

/** Runs that have ended and can be attached to: who lost his connection comes back for them. */
const ENDED_MAX = 32;
/** What all runs together hold in results. */
const KEPT_BYTES = 24 * 1024 * 1024;

/** All runs by id, and the memory that their results may take. */
export class Runs implements ResultRoom {
  /** The oldest first. */
  readonly #runs = new Map<string, Run>();
  #bytes = 0;

  add(context: string, cell: Cell): Run {
    const run = new Run(`run_${randomText(12).toLowerCase()}`, context, cell, this);
    this.#runs.set(run.id, run);
    this.#forget(({ length }) => length > ENDED_MAX);
    return run;
  }

  get(id: string): Run {
    const run = this.#runs.get(id);
    if (!run)
      throw refuse("NotFound", `There is no run ${id}. The last ${ENDED_MAX} that ended are kept.`);
    return run;
  }

  take(run: Run, bytes: number): boolean {
    if (run.results.length >= RUN_RESULTS_MAX) return false;
    if (run.resultBytes + bytes > RUN_RESULTS_BYTES) return false;
    this.#forget(() => this.#bytes + bytes > KEPT_BYTES);
    if (this.#bytes + bytes > KEPT_BYTES) return false;
    this.#bytes += bytes;
    return true;
  }

  /** Forgets the oldest of the runs that have ended, for as long as it has to be. */
  #forget(mustGo: (ended: readonly Run[]) => boolean): void {
    const ended = [...this.#runs.values()].filter((run) => run.isOver);
    while (ended.length > 0 && mustGo(ended)) {
      const run = ended.shift();
      if (!run) return;
      this.#runs.delete(run.id);
      this.#bytes -= run.resultBytes;
    }
  }
}
