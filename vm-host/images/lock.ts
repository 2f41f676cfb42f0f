import { DatabaseSync } from "node:sqlite";
import { setTimeout as pause } from "node:timers/promises";

// A database that is collected as garbage would drop its lock.
const held = new Set<DatabaseSync>();
const SQLITE_BUSY = 5;

/** Waits for a lock that the kernel drops when its holder ends, however it ends. */
export async function takeBuildLock(file: string, pollMs: number): Promise<Disposable> {
  for (;;) {
    const lock = tryLock(file);
    if (lock) return lock;
    await pause(pollMs);
  }
}

function tryLock(file: string): Disposable | null {
  const database = new DatabaseSync(file);
  try {
    database.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    database.close();
    if (error instanceof Error && "errcode" in error && error.errcode === SQLITE_BUSY) return null;
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
