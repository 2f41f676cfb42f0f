// Imports nothing but Node: the installer uses it before any package is there.
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as pause } from "node:timers/promises";

// A database that is collected as garbage would drop its lock.
const held = new Set<DatabaseSync>();
const SQLITE_BUSY = 5;

/**
 * Takes a lock that the kernel drops when this process ends, however it ends: no stale lock to judge, no pid to
 * mistake for another. `undefined` when someone else holds the lock for longer than `waitMs`; waiting blocks the thread.
 */
export function takeLock(file: string, waitMs = 0): Disposable | undefined {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const database = new DatabaseSync(file);
  try {
    database.exec(`PRAGMA busy_timeout = ${waitMs}; BEGIN EXCLUSIVE`);
  } catch (error) {
    database.close();
    if (isBusy(error)) return undefined;
    throw error;
  }
  held.add(database);
  return {
    [Symbol.dispose]() {
      held.delete(database);
      database.close();
    },
  };
}

/** Waits for the same lock without blocking the thread: looks every `pollMs`. */
export async function waitForLock(file: string, pollMs: number): Promise<Disposable> {
  for (;;) {
    const lock = takeLock(file);
    if (lock) return lock;
    await pause(pollMs);
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && "errcode" in error && error.errcode === SQLITE_BUSY;
}
