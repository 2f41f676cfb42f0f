import { setTimeout as pause } from "node:timers/promises";
import { Health } from "@svc/contract/browser/health.ts";
import { type Process, type Role, find, processes, slotsOf, treeOf } from "../machine/processes.ts";
import type { Operator } from "../service/operator.ts";
import type { Service } from "../service/service.ts";
import { type Random, pick, pickWeighted } from "./random.ts";
import type { SoakRecord } from "./record.ts";

const LIMIT_MS = 90_000;
const POLL_MS = 100;
const MOST_DUE = 2;
/** So that kills fall into every moment of a session. */
const DELAY_MS = 1_500;
const SLACK_MS = { browser: 3_000, pool: 3_000, gateway: 3_000 } as const;
const WEIGHTS = { browser: 80, pool: 10, gateway: 10 } as const;
type Target = keyof typeof WEIGHTS;

/** Kills with SIGKILL, one after the other, and waits each time until the service is whole again. */
export class Killer {
  readonly #service: Service;
  readonly #operator: Operator;
  readonly #record: SoakRecord;
  readonly #random: Random;
  #queue: Promise<void> = Promise.resolve();
  /** Kills that were ordered and are not over, oldest first. */
  readonly #due: Promise<void>[] = [];

  constructor(service: Service, operator: Operator, record: SoakRecord, random: Random) {
    this.#service = service;
    this.#operator = operator;
    this.#record = record;
    this.#random = random;
  }

  /** One more kill, soon. */
  order(): void {
    const target = pickWeighted(this.#random, WEIGHTS);
    const delayMs = this.#random() * DELAY_MS;
    const done = this.#queue.then(() => this.#strike(target, delayMs));
    this.#queue = done;
    this.#due.push(done);
    void done.then(() => this.#due.shift());
  }

  /** Resolves when few kills are due: sessions must not run away from them. */
  async caughtUp(): Promise<void> {
    while (this.#due.length > MOST_DUE) await this.#due[0];
  }

  /** Resolves when all ordered kills are done and the service is whole. */
  done(): Promise<void> {
    return this.#queue;
  }

  async #strike(target: Target, delayMs: number): Promise<void> {
    await pause(delayMs);
    const urlBefore = await this.#poolUrl();
    const close = this.#record.windows.open(SLACK_MS[target]);
    const served = this.#record.created.length;
    const victim = await this.#until(() => Promise.resolve(this.#kill(target)));
    if (!victim) {
      close();
      return this.#record.anomaly(`there is no ${target} to kill`);
    }
    this.#record.count(`killed: ${target}`);
    let lack: string | null = null;
    const whole = await this.#until(async () => {
      lack = await this.#lack(target, victim, urlBefore, served);
      return lack === null ? true : null;
    });
    if (!whole) this.#record.anomaly(`not recovered from the kill of a ${target}: ${lack}`);
    close();
  }

  /** Kills one of what is there now; null when nothing is, or it has just gone by itself. */
  #kill(target: Target): Process | null {
    const victim = this.#victim(target);
    try {
      if (victim) process.kill(victim.pid, "SIGKILL");
      return victim;
    } catch {
      return null;
    }
  }

  #victim(target: Target): Process | null {
    const all = processes();
    const role: Role = target === "gateway" ? "gateway" : "pool";
    const host = find(role, this.#service.supervisor.pid, all);
    if (target !== "browser" || !host) return host;
    const slot = pick(this.#random, slotsOf(host.pid, all));
    if (!slot) return null;
    // Chromium's first process, or the sandbox around it.
    const browser = treeOf(slot.pid, all).find(
      ({ command }) =>
        command.includes("--remote-debugging-pipe") && !command.includes("--unshare"),
    );
    return pick(this.#random, [slot, browser ?? slot]) ?? null;
  }

  /**
   * What is still missing: the victim gone, the pool registered, by a new URL if it was killed, and a
   * browser idle or, where clients take each one at once, given out since.
   */
  async #lack(
    target: Target,
    victim: Process,
    urlBefore: string,
    served: number,
  ): Promise<string | null> {
    if (processes().some(({ pid, isZombie }) => pid === victim.pid && !isZombie))
      return "the victim lives";
    const url = await this.#poolUrl();
    if (url === "") return "no pool is registered";
    if (target === "pool" && url === urlBefore) return "the pool has not registered anew";
    if (this.#record.created.length > served) return null;
    return (await this.#idle()) > 0 ? null : "no browser is idle";
  }

  async #poolUrl(): Promise<string> {
    const hosts = await this.#operator.hosts().catch(() => []);
    return hosts.find(({ type }) => type === "pool")?.url ?? "";
  }

  async #idle(): Promise<number> {
    return fetch(new URL("/health", this.#service.url))
      .then(async (response) => Health.parse(await response.json()).fast.idle)
      .catch(() => 0);
  }

  async #until<T>(look: () => Promise<T | null>): Promise<T | null> {
    const deadline = performance.now() + LIMIT_MS;
    while (performance.now() < deadline) {
      const seen = await look();
      if (seen !== null) return seen;
      await pause(POLL_MS);
    }
    return null;
  }
}
