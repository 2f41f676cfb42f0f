import { setTimeout as sleep } from "node:timers/promises";
import { LATE, inTime } from "@svc/host-kit/deadline.ts";
import type { CdpMux } from "../cdp/mux.ts";
import { type CaptchaLimits, SessionBudget } from "./budget.ts";
import type { CaptchaKind } from "./challenge.ts";
import { type CaptchaProvider, SolveFault } from "./provider.ts";
import { CaptchaWatch, type Finding } from "./watch.ts";

/** Between two tries of a captcha. */
const PAUSE_MS = 2_000;
/** A page that stands at a dialog takes nothing. */
const GIVE_MS = 10_000;
/** Of a session: what a page without end has to tell is told no more. */
const MOST_EVENTS = 200;

/** How it goes with a captcha. `reason`: why it is not solved. */
export interface CaptchaEvent {
  name: "captcha.detected" | "captcha.solving" | "captcha.solved" | "captcha.failed";
  kind: CaptchaKind;
  tab: string;
  /** Since the captcha was found. */
  ms: number;
  reason?: string;
}

export interface CaptchaSolverOptions {
  provider: CaptchaProvider;
  limits: CaptchaLimits;
  onEvent: (event: CaptchaEvent) => void;
}

/** Solves the captchas of one session, within its limits. */
export class CaptchaSolver {
  readonly #options: CaptchaSolverOptions;
  #watch: CaptchaWatch | null = null;
  #events = 0;

  private constructor(options: CaptchaSolverOptions) {
    this.#options = options;
  }

  /** Begins with the pages that are there. Rejects when the browser dies meanwhile. */
  static async start(mux: CdpMux, options: CaptchaSolverOptions): Promise<CaptchaSolver> {
    const solver = new CaptchaSolver(options);
    const budget = new SessionBudget(options.limits);
    solver.#watch = await CaptchaWatch.start(mux, budget, (finding) => void solver.#take(finding));
    return solver;
  }

  close(): void {
    this.#watch?.close();
  }

  async #take(finding: Finding): Promise<void> {
    const { widget, tab, page } = finding;
    const begun = performance.now();
    const tell = (name: CaptchaEvent["name"], reason?: string): void => {
      this.#events += 1;
      if (this.#events > MOST_EVENTS) return;
      const ms = Math.round(performance.now() - begun);
      const event = { name, kind: widget.kind, tab, ms };
      this.#options.onEvent({ ...event, ...(reason !== undefined && { reason }) });
    };
    tell("captcha.detected");
    try {
      const token = await this.#tokenFor(finding, () => tell("captcha.solving"));
      const given = await inTime(give(finding, token), GIVE_MS);
      if (given === LATE) throw new SolveFault("the page does not take the token in time");
      tell("captcha.solved");
    } catch (error) {
      tell("captcha.failed", reasonOf(error, page.isGone));
    }
  }

  /** Tries until there is a token, or no other try is allowed or of any use. */
  async #tokenFor({ widget, page, url }: Finding, onTry: () => void): Promise<string> {
    const { signal } = page;
    const where = await url();
    if (where === null) throw new SolveFault("its document has no address");
    for (let last: SolveFault | null = null; ;) {
      signal.throwIfAborted();
      const refusal = page.take();
      if (refusal !== null) throw last ?? new SolveFault(refusal);
      onTry();
      try {
        return await this.#options.provider.solve({ ...widget, url: where }, signal);
      } catch (error) {
        if (!(error instanceof SolveFault) || error.isFinal) throw error;
        last = error;
      }
      await sleep(PAUSE_MS, null, { signal });
    }
  }
}

/** Gives a page its token, as the widget would have: into its fields, and to its callback. */
async function give({ widget, world, page }: Finding, token: string): Promise<void> {
  page.signal.throwIfAborted();
  const fields = await world.fill(widget.kind, token);
  const isCalled = await world.callBack(widget.callback, widget.siteKey, token);
  if (fields === 0 && !isCalled) throw new SolveFault("the page has no place for the token");
}

function reasonOf(error: unknown, isGone: boolean): string {
  if (isGone) return "the page has gone";
  if (error instanceof SolveFault) return error.message;
  const isLate = error instanceof Error && /^(?:Abort|Timeout)Error$/.test(error.name);
  return isLate ? "the time for this page is over" : "the page does not take the token";
}
