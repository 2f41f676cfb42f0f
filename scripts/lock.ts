import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";

// A database that is collected as garbage would drop its lock.
const held = new Set<DatabaseSync>();

/**
 * Takes a lock that the kernel drops when this process ends, however it ends: no stale lock to judge, no pid to
 * mistake for another. `undefined` when someone else holds it for longer than `waitMs`; waiting blocks the thread.
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

function isBusy(error: unknown): boolean {
  const SQLITE_BUSY = 5;
  return error instanceof Error && "errcode" in error && error.errcode === SQLITE_BUSY;
}
