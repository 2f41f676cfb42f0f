import { type Fitness, type Unfit, judge } from "./fitness.ts";
import { firstExecutable, onPath } from "./lookup.ts";

/** Whole Chromiums: a headless shell has no window, and is never taken in their place. */
const CHROMIUM_PLACES = [
  "/usr/lib/chromium/chromium",
  "/usr/lib64/chromium-browser/chromium-browser",
  "/opt/google/chrome/chrome",
];

/** How well this host can serve browsers of kind `stealth`: whole Chromiums, each with a screen for its window. */
export interface StealthFitness extends Fitness {
  xvfb: string;
}

/** Looks for what browsers of kind `stealth` need. `chromium`: its path, null: where systems have it. */
export async function judgeStealth(chromium: string | null): Promise<StealthFitness | Unfit> {
  const [browser, xvfb] = await Promise.all([
    firstExecutable(chromium ? [chromium] : CHROMIUM_PLACES),
    onPath("Xvfb"),
  ]);
  if (!browser && chromium)
    return { hint: `SVC_CHROMIUM_STEALTH names ${chromium}, which does not run.` };
  if (!browser || !xvfb) {
    const lacking = [browser ? [] : "chromium", xvfb ? [] : "xvfb"].flat().join(" ");
    return { hint: `Browsers of kind stealth need: apt-get install ${lacking}.` };
  }
  const judgement = await judge(browser, "SVC_CHROMIUM_STEALTH");
  return "hint" in judgement ? judgement : { ...judgement, xvfb };
}
