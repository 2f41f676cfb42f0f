import { LATE, inTime } from "@svc/host-kit/deadline.ts";

/** The connections of a machine break off a moment before its host knows what has ended the machine; more on a busy host. */
const TOLD_MS = 10_000;

/** What has ended the calls and sockets of a machine: the code of their close frames, and the reason in words. */
export interface Ending {
  state: "paused" | "running" | "gone";
  code: number;
  reason: string;
}

/** Tells those whose calls have broken off what has ended the machine. */
export class EndingNews {
  readonly #told = Promise.withResolvers<Ending>();
  #ending: Ending | null = null;

  tell(ending: Ending): void {
    this.#ending ??= ending;
    this.#told.resolve(ending);
  }

  /** Null: the machine runs on, its agent alone is gone. `isGone`: the machine is gone, and the news may be on its way. */
  async heard(isGone: boolean): Promise<Ending | null> {
    if (this.#ending || !isGone) return this.#ending;
    const first = await inTime(this.#told.promise, TOLD_MS);
    return first === LATE ? null : first;
  }
}
