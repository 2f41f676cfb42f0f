import type { StorageOrigin } from "@svc/contract/browser/storage-origin.ts";
import type { StorageState } from "@svc/contract/browser/storage-state.ts";
import type { CdpMux } from "../cdp/mux.ts";
import type { SlotPlaywrights } from "../playwrights/slot-playwrights.ts";
import { setCookies } from "./cookies.ts";
import { PartitionedStorage } from "./frames-tab.ts";
import { visitOrigins } from "./visits.ts";

/** A browser that is to have a state. */
interface Seeded {
  mux: CdpMux;
  playwrights: SlotPlaywrights;
}

/** How much of a state a browser did not take. */
export interface Lost {
  cookies: number;
  /** Origins that could not be visited. */
  origins: number;
  /** Entries of the storages of the other origins. */
  entries: number;
}

/** Gives the default context of a new browser a storage state. No site is asked for anything. */
export async function loadState(browser: Seeded, state: StorageState): Promise<Lost> {
  const { mux, playwrights } = browser;
  const { cookies, credentials } = state;
  const origins = state.origins.filter(hasStorage);
  const reports = origins.length > 0 ? await visited(mux, origins) : [];
  // Before the cookies: Playwright empties the context of them.
  if (credentials.length > 0 || !reports)
    await playwrights.seed({ cookies: [], origins: reports ? [] : origins, credentials });
  const lostCookies = await setCookies(mux, cookies);
  const names = origins.map(({ origin }) => new URL(origin).origin);
  if (names.length > 0) await playwrights.noteOrigins(names);
  const done = reports ?? [];
  return {
    cookies: lostCookies,
    origins: done.filter((report) => report === null).length,
    entries: done.reduce<number>((sum, report) => sum + (report ?? 0), 0),
  };
}

const hasStorage = ({ localStorage, indexedDB, opfs }: StorageOrigin): boolean =>
  localStorage.length + indexedDB.length + opfs.length > 0;

/** The count of lost entries by origin; null when only Playwright can fill this browser, which is slow. */
async function visited(mux: CdpMux, origins: StorageOrigin[]): Promise<(number | null)[] | null> {
  try {
    return [...(await visitOrigins(mux, origins)).values()];
  } catch (error) {
    if (error instanceof PartitionedStorage) return null;
    throw error;
  }
}
