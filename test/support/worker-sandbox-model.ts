import type { SandboxEvent } from "../../durable-objects/states/sandbox.ts";

const DAY = 86_400_000;
const FORCE = 30_000;

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

  tell(event: SandboxEvent, now: number): void {
    this.#letTimePass(now);
    if (this.#failed) return;
    if (this.#over) {
      if (["hostFreed", "hostEnded", "hostLost"].includes(event.type)) this.#over.sure = true;
    } else if (this.#bornAt === null) this.#whileStarting(event, now);
    else if (this.#asleep) this.#whileAsleep(event, now);
    else this.#whileRunning(event, now);
  }

  #whileAsleep(event: SandboxEvent, now: number): void {
    if (event.type === "idleSet") this.#idleMs = event.idleMs;
    if (event.type === "delete") this.#over = { at: now, reason: "deleted", sure: false };
    if (event.type === "hostLost") this.#over = { at: now, reason: "host_lost", sure: true };
    if (event.type !== "resumed") return;
    this.#asleep = false;
    this.#away = null;
    this.#deadline = now + this.#idleMs;
    this.#bill(now);
  }

  #letTimePass(now: number): void {
    if (this.#bornAt === null && !this.#over && now >= this.#giveUpAt) this.#failed = true;
    if (this.#bornAt !== null && !this.#over && !this.#asleep) {
      if (now >= this.#deadline) this.#stopBilling(this.#deadline);
      const end = this.#deadline + (this.#kill ? 0 : DAY);
      if (now >= end) this.#over = { at: end, reason: "idle", sure: false };
    }
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
    this.bill.push({ from: now, to: null });
  }

  #whileRunning(event: SandboxEvent, now: number): void {
    switch (event.type) {
      case "activity": {
        const until = Math.min(event.at, now) + this.#idleMs;
        if (until <= this.#deadline) return;
        this.#deadline = until;
        return this.#bill(now);
      }
      case "idleSet":
        this.#idleMs = event.idleMs;
        this.#deadline = now + event.idleMs;
        return this.#bill(now);
      case "delete":
        return this.#end(now, "deleted", false, now);
      case "hostEnded":
        return this.#end(now, "machine_died", true, now);
      case "hostLost":
        return this.#end(now, "host_lost", true, event.seenAt);
      case "hostAway":
        this.#away ??= event.seenAt;
        return this.#stopBilling(this.#away);
      case "hostBack":
        if (this.#away === null) return;
        this.#away = null;
        return this.#bill(now);
      case "paused":
        this.#asleep = true;
        return this.#stopBilling(Math.min(event.at, this.#away ?? event.at));
      case "placed":
      case "resumed":
      case "createFailed":
      case "hostFreed":
      case "billed":
      case "tick":
    }
  }

  #bill(now: number): void {
    const isOpen = this.bill.at(-1)?.to === null;
    if (!isOpen && this.#away === null && now < this.#deadline)
      this.bill.push({ from: now, to: null });
  }

  #stopBilling(at: number): void {
    const last = this.bill.at(-1);
    if (last?.to === null) last.to = Math.max(last.from, at);
  }

  #end(at: number, reason: string, sure: boolean, billedTo: number): void {
    this.#stopBilling(Math.min(billedTo, this.#away ?? billedTo));
    this.#over = { at, reason, sure };
  }
}
