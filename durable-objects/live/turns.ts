/** `over`: the turn came to an end while it was waited for. `crowded`: too many calls wait already. */
export type TurnAnswer = "taken" | "over" | "crowded";

interface Turn {
  id: string;
  timer: ReturnType<typeof setTimeout>;
  /** Answers the call that waits; only the first answer counts. */
  tell: (answer: TurnAnswer) => void;
}

/**
 * Calls that follow each other in the order they came: the first of the line has the turn. A turn ends when its holder says
 * so, and at its deadline if its holder has died. The line is in memory: with the object go those who wait for it.
 */
export class Turns {
  readonly #line: Turn[] = [];
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  /** Waits for the turn, which ends `lastsMs` after it was asked for. */
  async take(id: string, lastsMs: number): Promise<TurnAnswer> {
    if (this.#line.length > this.#most) return "crowded";
    const timer = setTimeout(() => this.end(id), lastsMs);
    const told = new Promise<TurnAnswer>((tell) => this.#line.push({ id, timer, tell }));
    this.#tellFirst();
    return told;
  }

  /** Ends a turn, had or waited for. A turn that is over stays so. */
  end(id: string): void {
    const at = this.#line.findIndex((turn) => turn.id === id);
    const [turn] = at < 0 ? [] : this.#line.splice(at, 1);
    if (!turn) return;
    clearTimeout(turn.timer);
    turn.tell("over");
    this.#tellFirst();
  }

  #tellFirst(): void {
    this.#line[0]?.tell("taken");
  }
}
