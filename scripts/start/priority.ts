import type { ChildProcess } from "node:child_process";
import { writeFile } from "node:fs/promises";

/** Weighs as much as nine busy programs. */
const FIRST = -10;

/**
 * Has a program that leads a session of its own go before the others when processors are short. Linux shares them between
 * sessions first, and the nice value of a process counts only within its session: what the program starts in sessions of
 * their own, browsers and Playwrights, keeps the usual share. Without root, or where the kernel does not group by
 * sessions, nothing changes.
 */
export async function goFirst({ pid }: ChildProcess): Promise<void> {
  if (pid !== undefined) await writeFile(`/proc/${pid}/autogroup`, String(FIRST)).catch(() => {});
}
