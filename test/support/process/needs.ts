import type { BrowserKind } from "@svc/contract/browser/session.ts";
import type { TestContext } from "vitest";
import { type Fitness, type Unfit, judge } from "../../../browser-pool/launch/fitness.ts";
import { judgeStealth } from "../../../browser-pool/launch/stealth-fitness.ts";
import { missingForPages } from "../../../scripts/system-packages.ts";

let known: ReturnType<typeof judge> | undefined;
let knownStealth: ReturnType<typeof judgeStealth> | undefined;

/**
 * Why this machine cannot run a real browser, or nothing: `describe.skipIf(await missingBrowser())`.
 * In CI it throws instead, so that a missing browser never passes as a skip.
 */
export async function missingBrowser(): Promise<string | undefined> {
  known ??= judge(process.env.SVC_CHROMIUM || null);
  return hintOf("a browser", await known);
}

/** The same for browsers of kind `stealth`. */
export async function missingStealth(): Promise<string | undefined> {
  knownStealth ??= judgeStealth(process.env.SVC_CHROMIUM_STEALTH || null);
  return hintOf("stealth browsers", await knownStealth);
}

function hintOf(what: string, fitness: Fitness | Unfit): string | undefined {
  if (!("hint" in fitness)) return undefined;
  if (process.env.CI) throw new Error(`CI must have ${what}. ${fitness.hint}`);
  return fitness.hint;
}

/** Why this machine cannot run browsers of a kind, or nothing. */
export const missingKind = (kind: BrowserKind): Promise<string | undefined> =>
  kind === "stealth" ? missingStealth() : missingBrowser();

/** Why this machine cannot record pages or draw every script: set-up installs what that takes where it may. */
export function missingPagePackages(): string | undefined {
  const missing = missingForPages().join(" ");
  if (!missing) return undefined;
  if (process.env.CI) throw new Error(`CI must have ${missing}`);
  return `install ${missing}`;
}

/** The same inside one test, where the reason shows in the report. */
export async function needsBrowser(context: TestContext): Promise<void> {
  const hint = await missingBrowser();
  if (hint) context.skip(hint);
}
