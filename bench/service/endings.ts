import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const endings: (() => Promise<void> | void)[] = [];

/** Something that was opened, to be closed at the end of the run or when it is interrupted. */
export function atEnd(close: () => Promise<void> | void): void {
  endings.push(close);
}

/** Closes everything, the last opened first. */
export async function endAll(): Promise<void> {
  for (const close of endings.splice(0).toReversed()) {
    try {
      await close();
    } catch (error) {
      console.error(error);
    }
  }
}

/** A folder that is gone after the run. */
export function tempFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "svc-bench-"));
  // The users of slots pass through to their own folder.
  chmodSync(folder, 0o711);
  atEnd(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}

/** Runs a whole program: what it opened is closed in any case, also when a signal ends it. */
export async function runToEnd(work: () => Promise<void>): Promise<void> {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
    process.once(signal, () => void endAll().then(() => process.exit(1)));
  // The launcher was killed: nobody reads the results.
  process.once("disconnect", () => void endAll().then(() => process.exit(1)));
  try {
    await work();
  } catch (error) {
    console.error(error);
    process.exitCode = 1;
  }
  await endAll();
  process.exit();
}
