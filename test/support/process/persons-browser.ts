import { type Browser, chromium } from "playwright-core";
import { judge } from "../../../browser-pool/launch/fitness.ts";

/** A browser as people have it, to look at our own pages: with the protections that everybody's has. */
export async function openPersonsBrowser(): Promise<Browser> {
  const fit = await judge(process.env.SVC_CHROMIUM || null);
  if ("hint" in fit) throw new Error(fit.hint);
  return chromium.launch({ executablePath: fit.programs.chromium, args: ["--no-sandbox"] });
}
