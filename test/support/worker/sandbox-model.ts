import type { SandboxEvent } from "../../../durable-objects/sandbox/state.ts";

const DAY = 86_400_000;
const FORCE = 30_000;
const LOST = 210_000;
/** How long a machine outlives its window whose host says nothing of its use. */
const UNASKED = { kill: 210_000, pause: DAY };

/**
 * The life of a sandbox told a second time, in another way: minute by minute in a diary of facts, from which
 * state and bill are looked up. It shares no code with the table under test; numbers are the documents'.
 */
export class SandboxModel {
  readonly #giveUpAt: number;
  #bornAt: number | null = null;
  #idleMs = 0;
  #kill = false;
  #deadline = 0;
  #away: number | null = null;
  #over: { at: number; reason: string; sure: boolean } | null = null;
  #failed = false;
  #asleep = false;
  /** Habits: after how long, how much longer, how often. null = never. */
  #parks: number | null = null;
  #hibernates: number | null = null;
  #saves: number | null = null;
  /** Moments: of the last use, the last checkpoint, the beginning of this run. Facts, from which all is looked up. */
  #usedAt = 0;
  /** Since when it stands still, where somebody has looked at it since: that is a use, and leaves it as it is. */
  #stillSince: number | null = null;
  #savedAt: number | null = null;
  #countsFrom = 0;
  #isStored = false;
  #wasDue = false;
  /** Every span there ever was. */
  readonly bill: { from: number; to: number | null }[] = [];

  constructor(giveUpAt: number) {
    this.#giveUpAt = giveUpAt;
  }

  /** `starting`, `running`, `paused`, `releasing <reason>`, `gone <reason>` or `failed`. */
  get status(): string {
    if (this.#failed) return "failed";
    if (this.#over) return `${this.#over.sure ? "gone" : "releasing"} ${this.#over.reason}`;
    if (this.#asleep) return "paused";
    return this.#bornAt === null ? "starting" : "running";
  }

  /** What is to be done with the machine at the time that was told last. */
  get asked(): string[] {
    const isUp = this.status === "running" && this.#away === null;
    if (!isUp) return [];
    const isOverdue = this.#now >= this.#deadline;
    const parkedAt = this.#parkedAt;
    const sleepsAt = this.#usedAt + (this.#parks ?? Infinity) + (this.#hibernates ?? Infinity);
    const isLong = parkedAt !== null && this.#now >= sleepsAt;
    const pause = (isOverdue && !this.#kill) || isLong;
    const end = isOverdue && this.#kill && !isLong;
    const park = !pause && !end && parkedAt !== null;
    return [
      ...(pause ? ["pause"] : []),
      ...(end ? ["end"] : []),
      ...(park ? ["park"] : []),
      ...(this.#wasDue ? ["checkpoint"] : []),
    ];
  }

  #now = 0;

  get #parkedAt(): number | null {
    if (this.#stillSince !== null) return this.#stillSince;
    const at = this.#parks === null ? Infinity : this.#usedAt + this.#parks;
    return at <= this.#now ? at : null;
  }

  tell(event: SandboxEvent, now: number): void {
    this.#letTimePass(now);
    this.#hear(event, now);
    this.#letTimePass(now);
  }

  #hear(event: SandboxEvent, now: number): void {
    if (this.#failed) return;
    if (this.#over) {
      if (["hostFreed", "hostEnded", "hostLost"].includes(event.type)) this.#over.sure = true;
    } else if (this.#bornAt === null) this.#whileStarting(event, now);
    else if (this.#asleep) this.#whileAsleep(event, now);
    else this.#whileRunning(event, now);
  }

  #whileAsleep(event: SandboxEvent, now: number): void {
    if (event.type === "idleSet") this.#idleMs = event.idleMs;
    if (event.type === "stored") this.#isStored = true;
    if (event.type === "delete") this.#over = { at: now, reason: "deleted", sure: false };
    if (event.type === "hostLost" && !this.#isStored)
      this.#over = { at: now, reason: "host_lost", sure: true };
    if (event.type !== "resumed") return;
    this.#asleep = false;
    this.#away = null;
    this.#wake(now);
    this.#deadline = now + this.#idleMs;
    this.#bill(now);
  }

  /** It runs from now on, and nothing of it is saved. */
  #wake(now: number): void {
    this.#usedAt = now;
    this.#stillSince = null;
    this.#countsFrom = now;
    this.#savedAt = null;
    this.#isStored = false;
    this.#wasDue = false;
  }

  #sleep(at: number, isStored: boolean): void {
    this.#asleep = true;
    this.#isStored = isStored;
    this.#stopBilling(at);
  }

  /** A checkpoint falls due at its interval, but not while nothing has happened since the last. */
  #lookForCheckpoint(): void {
    if (this.#saves === null || this.#wasDue) return;
    const due = this.#countsFrom + this.#saves;
    const willPark = this.#parks === null ? Infinity : this.#usedAt + this.#parks;
    const parkedAt = this.#stillSince ?? willPark;
    const quiet = this.#savedAt !== null && this.#savedAt >= parkedAt;
    // Before it was parked it could still fall due, if that was not saved since.
    if (due <= this.#now && !quiet) this.#wasDue = true;
  }

  #letTimePass(now: number): void {
    this.#now = now;
    const lostAt = (this.#away ?? Infinity) + LOST;
    const isRunning = this.#bornAt !== null && !this.#over && !this.#asleep;
    const endsAt = this.#deadline + UNASKED[this.#kill ? "kill" : "pause"];
    const canGoOn = this.#savedAt !== null && this.#isStored;
    if (isRunning && canGoOn && now >= lostAt && lostAt < endsAt) return this.#sleep(lostAt, true);
    if (isRunning) this.#lookForCheckpoint();
    if (this.#bornAt === null && !this.#over && now >= this.#giveUpAt) this.#failed = true;
    if (isRunning && now >= endsAt) this.#end(endsAt, "idle", false, endsAt);
    if (this.#over && now >= this.#over.at + FORCE) this.#over.sure = true;
  }

  #whileStarting(event: SandboxEvent, now: number): void {
    if (event.type === "createFailed") this.#failed = true;
    if (event.type === "delete") this.#over = { at: now, reason: "deleted", sure: true };
    if (event.type !== "placed") return;
    this.#bornAt = now;
    this.#idleMs = event.idleMs;
    this.#kill = event.onTimeout === "kill";
    this.#deadline = now + event.idleMs;
    const { parkAfterMs, hibernateAfterParkedMs, checkpointEveryMs } = event.habits;
    this.#parks = parkAfterMs;
    this.#hibernates = hibernateAfterParkedMs;
    this.#saves = checkpointEveryMs;
    this.#wake(now);
    this.bill.push({ from: now, to: null });
  }

  #whileRunning(event: SandboxEvent, now: number): void {
    switch (event.type) {
      case "activity": {
        const usedAt = Math.min(event.at, now);
        const isNews = usedAt + this.#idleMs > this.#deadline;
        if (event.isParked && isNews) this.#stillSince = this.#parkedAt;
        if (!event.isParked) this.#goOn(now);
        if (!isNews) return;
        this.#deadline = usedAt + this.#idleMs;
        this.#usedAt = usedAt;
        return this.#bill(now);
      }
      case "called":
        this.#beginWindow(now);
        return this.#goOn(now);
      case "looked":
        return this.#beginWindow(now);
      case "idleSet":
        return this.#beginWindow(now, event.idleMs);
      case "notRested":
        if (now >= this.#deadline) this.#stopBilling(now);
        return;
      case "idleEnded":
        return this.#end(Math.min(this.#deadline, now), "idle", true, now);
      case "reverted":
        this.#beginWindow(now);
        return this.#wake(now);
      case "checkpointed":
        this.#savedAt = Math.min(event.at, now);
        this.#countsFrom = this.#savedAt;
        this.#isStored = event.isDurable;
        this.#wasDue = false;
        return;
      case "stored":
        if (this.#savedAt !== null) this.#isStored = true;
        return;
      case "delete":
        return this.#end(now, "deleted", false, now);
      case "hostEnded":
        return this.#end(now, "machine_died", true, now);
      case "hostLost":
        if (this.#savedAt !== null && this.#isStored) return this.#sleep(event.seenAt, true);
        return this.#end(now, "host_lost", true, event.seenAt);
      case "hostAway":
        this.#away ??= event.seenAt;
        return this.#stopBilling(this.#away);
      case "hostBack":
        if (this.#away === null) return;
        this.#away = null;
        return this.#bill(now);
      case "paused":
        return this.#sleep(event.at, event.isDurable);
      case "placed":
      case "resumed":
      case "createFailed":
      case "hostFreed":
      case "billed":
      case "tick":
    }
  }

  /** It stands still no more: what was saved while it did is as good as the moment in which it goes on. */
  #goOn(now: number): void {
    const parkedAt = this.#parkedAt;
    if (parkedAt !== null && this.#savedAt !== null && this.#savedAt >= parkedAt)
      this.#countsFrom = now;
    this.#stillSince = null;
  }

  /** A request begins its window anew. Nobody knows of a use between the end of the last one and now. */
  #beginWindow(now: number, idleMs = this.#idleMs): void {
    if (now >= this.#deadline) this.#stopBilling(now);
    this.#stillSince = this.#parkedAt;
    this.#idleMs = idleMs;
    this.#usedAt = now;
    this.#deadline = now + idleMs;
    this.#bill(now);
  }

  #bill(now: number): void {
    const isOpen = this.bill.at(-1)?.to === null;
    if (!isOpen && this.#away === null && now < this.#deadline)
      this.bill.push({ from: now, to: null });
  }

  #stopBilling(at: number): void {
    const last = this.bill.at(-1);
    const latest = Math.min(at, this.#deadline, this.#away ?? at);
    if (last?.to === null) last.to = Math.max(last.from, latest);
  }

  #end(at: number, reason: string, sure: boolean, billedTo: number): void {
    this.#stopBilling(billedTo);
    this.#over = { at, reason, sure };
  }
}
