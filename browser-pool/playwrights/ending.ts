import { isOutOfMemory } from "@svc/host-kit/cgroups.ts";
import { PLAYWRIGHT_CAPS } from "../launch/caps.ts";
import type { SandboxedProcess } from "../launch/process.ts";

const WORDS = 3;
const MIB = 1024 * 1024;
const OUT_OF_MEMORY = `Playwright used more than ${PLAYWRIGHT_CAPS.memoryBytes / MIB} MiB of memory and was ended.`;
const MISBEHAVED =
  "Playwright wrote what no Playwright writes into its process channel, and was ended.";

/** A Playwright, or its connection, ended before a question was answered. */
export class PlaywrightGone extends Error {
  constructor() {
    super("Playwright is gone");
  }
}

/** Why a Playwright process has ended. */
export interface Ending {
  /** A sentence for the log and for the clients. */
  reason: string;
  /** Whether it was not wanted. */
  isFault: boolean;
}

/** Why a process that nobody here has ended has ended. */
export async function endingOf(process: SandboxedProcess, groups: string[]): Promise<Ending> {
  if (process.hasMisbehaved) return { reason: MISBEHAVED, isFault: true };
  const isHeap = /heap out of memory/.test(process.lastWords);
  if (isHeap || (await isOutOfMemory(groups))) return { reason: OUT_OF_MEMORY, isFault: true };
  const { killedBy } = process;
  const how = killedBy === null ? "ended by itself" : `was ended by ${killedBy}`;
  return { reason: `Playwright ${how}.`, isFault: true };
}

/** A line of Node's last words that tells a place: in a stack, or alone before the line of code. */
const PLACE = /^ +at |^FATAL|^(?:file:\/\/)?\/\S+:\d+$/;

/** Where in the code a process has failed, by its last words. Their text may quote a client. */
export function placesOf({ lastWords }: Pick<SandboxedProcess, "lastWords">): string[] {
  const lines = lastWords.split("\n").filter((line) => PLACE.test(line));
  return lines.slice(0, WORDS).map((line) => line.trim());
}
