/** A database that fails, whatever it is asked. */
export const D1_DOWN = {
  prepare() {
    throw new Error("D1 is down");
  },
} as unknown as D1Database;
