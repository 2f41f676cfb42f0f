import { setTimeout as pause } from "node:timers/promises";
import { KindHealth } from "@svc/contract/browser/health.ts";
import type { BrowserKind } from "@svc/contract/browser/session.ts";
import * as z from "zod";

const LIMIT_MS = 90_000;
const POLL_MS = 50;
/** A pause that took longer was an accident, and is not imposed on the others. */
const LONGEST_MS = 5_000;
const REMEMBERED = 10;

const Count = KindHealth.omit({ pools: true });
const Counts = z.object({ fast: Count, stealth: Count });

/** Waits until pools are warm again, and at least as long as it took lately: the same pause for each contestant. */
export class Rest {
  readonly #healths: string[];
  readonly #warm: number;
  readonly #kind: BrowserKind;
  readonly #waits: number[] = [];

  /** `healths`: URLs that answer with counts as GET /health does. */
  constructor(healths: string[], warm: number, kind: BrowserKind = "fast") {
    this.#healths = healths;
    this.#warm = warm;
    this.#kind = kind;
  }

  async take(sessions: "none" | "any"): Promise<void> {
    const began = performance.now();
    while (!(await this.#isOver(sessions))) {
      if (performance.now() - began > LIMIT_MS) throw new Error("the pool does not get warm");
      await pause(POLL_MS);
    }
    const took = performance.now() - began;
    const longest = Math.max(took, ...this.#waits);
    this.#waits.push(Math.min(took, LONGEST_MS));
    this.#waits.splice(0, this.#waits.length - REMEMBERED);
    await pause(Math.min(longest, LONGEST_MS) - Math.min(took, LONGEST_MS));
  }

  async #isOver(sessions: "none" | "any"): Promise<boolean> {
    const all = await Promise.all(this.#healths.map((url) => countsAt(url, this.#kind)));
    return all.every(
      ({ idle, busy, recycling }) =>
        idle >= this.#warm && recycling === 0 && (sessions === "any" || busy === 0),
    );
  }
}

async function countsAt(url: string, kind: BrowserKind) {
  return Counts.parse(await (await fetch(url)).json())[kind];
}
