import { setTimeout as pause } from "node:timers/promises";
import { LIMITS } from "@svc/contract/limits.ts";
import { LATE, inTime } from "@svc/host-kit/deadline.ts";
import type { Log } from "@svc/host-kit/log.ts";
import type { Slot } from "../slots/slot.ts";
import { TooLarge } from "./read.ts";
import { reasonOf } from "./short-reason.ts";

const AGAIN_MS = 1_000;

export interface SaverOptions {
  gatewayUrl: string;
  hostToken: string;
  log: Log;
}

/** A save that the gateway refuses: to try again is in vain. */
class Refused extends Error {}

/** Saves the profiles of sessions that have ended, before their browsers go. */
export class ProfileSaver {
  readonly #options: SaverOptions;

  constructor(options: SaverOptions) {
    this.#options = options;
  }

  /** Reads the state of the browser and has the gateway store it. What fails is in the log: the last version stays. */
  async save(sessionId: string, profileId: string, slot: Slot): Promise<void> {
    const { log } = this.#options;
    const giveUp = AbortSignal.timeout(LIMITS.profileEndMs);
    const path = `/internal/sessions/${encodeURIComponent(sessionId)}/profile/${encodeURIComponent(profileId)}`;
    try {
      if (slot.isDead) throw new Error("the browser died");
      const read = await inTime(slot.state.read(), LIMITS.profileEndMs);
      if (read === LATE) throw new Error("the browser took too long");
      await this.#store(path, read.bytes, giveUp);
      const { lost, bytes } = read;
      log.info({ slot: slot.number, bytes: bytes.length, lost }, "profile_saved");
    } catch (error) {
      const reason = error instanceof TooLarge ? "the state is too large" : reasonOf(error);
      log.warn({ slot: slot.number, reason }, "profile_not_saved");
    }
  }

  async #store(path: string, bytes: Buffer, signal: AbortSignal): Promise<void> {
    for (;;) {
      const failure = await this.#post(path, bytes, signal).then(
        () => null,
        (error: unknown) => error,
      );
      if (failure === null) return;
      if (failure instanceof Refused || signal.aborted) throw failure;
      await pause(AGAIN_MS, undefined, { signal });
    }
  }

  async #post(path: string, body: Buffer, signal: AbortSignal): Promise<void> {
    const { gatewayUrl, hostToken } = this.#options;
    const headers = { authorization: `Bearer ${hostToken}`, "content-type": "application/json" };
    const init = { method: "POST", headers, body, signal, redirect: "error" } as const;
    const { status, ok, ...answer } = await fetch(new URL(path, gatewayUrl), init).then(told);
    if (ok) return;
    const words = `the gateway answered ${status} ${answer.code}`;
    throw status < 500 ? new Refused(words) : new Error(words);
  }
}

/** The code of a refusal, without its words. */
async function told(response: Response): Promise<{ ok: boolean; status: number; code: string }> {
  const { ok, status } = response;
  const code = /"code":"(\w+)"/.exec(await response.text())?.[1] ?? "";
  return { ok, status, code };
}
