import type { StorageState } from "@svc/contract/browser/storage-state.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import type { Log } from "@svc/host-kit/log.ts";
import type { Slot } from "../slots/slot.ts";
import { ProfileFault } from "./fault.ts";
import { faultOfFetch, fetchState } from "./fetch.ts";
import { reasonOf } from "./short-reason.ts";

export interface ProfilesOptions {
  gatewayUrl: string;
  log: Log;
}

/** The profiles that sessions start with: fetched and loaded within one budget, `LIMITS.profileLoadMs`. */
export class Profiles {
  readonly #options: ProfilesOptions;

  constructor(options: ProfilesOptions) {
    this.#options = options;
  }

  /** Fetches a profile for a session. `caller`: whether the session is still wanted. */
  async fetch(statePath: string, caller: AbortSignal): Promise<FetchedProfile | ProfileFault> {
    const { gatewayUrl, log } = this.#options;
    const began = performance.now();
    const signal = AbortSignal.any([caller, AbortSignal.timeout(LIMITS.profileLoadMs)]);
    try {
      const state = await fetchState(gatewayUrl, statePath, signal);
      const leftMs = LIMITS.profileLoadMs - (performance.now() - began);
      return new FetchedProfile(state, leftMs, { caller, log });
    } catch (error) {
      const fault = faultOfFetch(error);
      if (!caller.aborted)
        log.warn({ code: fault.code, reason: fault.message }, "profile_not_fetched");
      return fault;
    }
  }
}

/** A profile that was fetched and is to be loaded in the time that is left. */
export class FetchedProfile {
  readonly #state: StorageState;
  readonly #leftMs: number;
  readonly #own: { caller: AbortSignal; log: Log };

  constructor(state: StorageState, leftMs: number, own: { caller: AbortSignal; log: Log }) {
    this.#state = state;
    this.#leftMs = leftMs;
    this.#own = own;
  }

  /** Loads the profile into a browser that nobody has used. Null when it is loaded; otherwise the browser is of no use any more. */
  async loadInto(slot: Slot): Promise<ProfileFault | null> {
    const { caller, log } = this.#own;
    try {
      const lost = await slot.seed(this.#state, this.#leftMs, caller);
      const isWhole = lost.cookies + lost.origins + lost.entries === 0;
      if (!isWhole) log.warn({ slot: slot.number, ...lost }, "profile_partly_loaded");
      return null;
    } catch (error) {
      if (!caller.aborted)
        log.warn({ slot: slot.number, reason: reasonOf(error) }, "profile_not_loaded");
      const text = "The profile could not be loaded in time, or its browser died. Try again.";
      return new ProfileFault("ProfileUnavailable", text);
    }
  }
}
