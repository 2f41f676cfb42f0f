import { spawn } from "node:child_process";
import { once } from "node:events";
import { access } from "node:fs/promises";
import { Readable } from "node:stream";
import { SCREEN } from "../../../browser-pool/launch/screen.ts";

const XVFB = "/usr/bin/Xvfb";
/** A whole Chromium. */
export const FULL = "/usr/lib/chromium/chromium";

/** Whether tests with a whole browser cannot run here. */
export async function missingHeadedBrowser(): Promise<boolean> {
  const found = await Promise.allSettled([FULL, XVFB].map((path) => access(path)));
  const isMissing = found.some(({ status }) => status === "rejected");
  if (isMissing && process.env.CI) throw new Error(`CI must have ${FULL} and ${XVFB}`);
  return isMissing;
}

/** A screen for a browser that no pool has started. */
export interface Screen {
  /** As `:1`. */
  display: string;
  close: () => void;
}

export async function openScreen(): Promise<Screen> {
  const size = `${SCREEN.width}x${SCREEN.height}x24`;
  const args = ["-displayfd", "3", "-screen", "0", size, "-nolisten", "tcp"];
  const xvfb = spawn(XVFB, args, { stdio: ["ignore", "ignore", "ignore", "pipe"] });
  const [, , , numbers]: unknown[] = xvfb.stdio;
  if (!(numbers instanceof Readable)) throw new Error("the screen has no pipe");
  const [number] = (await once(numbers, "data")) as [Buffer];
  return { display: `:${number.toString().trim()}`, close: () => void xvfb.kill() };
}
