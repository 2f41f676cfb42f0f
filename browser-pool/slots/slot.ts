import { rm } from "node:fs/promises";
import { removeGroups } from "@svc/host-kit/cgroups.ts";
import { LATE, inTime } from "@svc/host-kit/deadline.ts";
import type { CdpMux } from "../cdp/mux.ts";
import type { CdpPipe } from "../cdp/pipe.ts";
import type { Forwarder } from "../egress/forwarder.ts";
import type { SandboxedProcess } from "../launch/process.ts";
import type { SlotPlaywrights } from "../playwrights/slot-playwrights.ts";
import { type StoredState, isCookiesOnly } from "../stored-state.ts";

/** The parts of a slot that need an end. */
export interface SlotParts {
  folder: string;
  /** The folder of files of uploads and downloads, and the socket that API requests leave by. */
  shared: { files: string; egress: string };
  forwarder: Forwarder;
  cgroups: string[];
  process: SandboxedProcess | null;
}

/** A browser that has started, and what drives it. */
export interface Browser {
  pipe: CdpPipe;
  mux: CdpMux;
  playwrights: SlotPlaywrights;
  /** Resolves when the browser has died, by itself or by `close` of its slot. */
  died: Promise<void>;
}

/** A browser, warm or in use. A slot serves at most one session and is never used again. */
export class Slot {
  /** Counts the launches of this run; names the slot in log lines. */
  readonly number: number;
  /** Its index among the slots of the pool, from which it has its uid. */
  readonly index: number;
  readonly pipe: CdpPipe;
  readonly mux: CdpMux;
  readonly playwrights: SlotPlaywrights;
  /** Resolves when the browser has died, by itself or by `close`. */
  readonly died: Promise<void>;
  readonly #parts: SlotParts;
  #closing: Promise<void> | null = null;
  #isDead = false;

  constructor(number: number, index: number, parts: SlotParts, browser: Browser) {
    this.number = number;
    this.index = index;
    this.#parts = parts;
    this.pipe = browser.pipe;
    this.mux = browser.mux;
    this.playwrights = browser.playwrights;
    this.died = browser.died;
    void this.died.then(() => (this.#isDead = true));
  }

  /** Whether the browser has died. */
  get isDead(): boolean {
    return this.#isDead;
  }

  /** The pid of the slot's outermost process. */
  get pid(): number | null {
    return this.#parts.process?.pid ?? null;
  }

  /** Gives the default context a stored state. Rejects when the state is unfit or takes too long: the slot is of no use then. */
  async seed(state: StoredState, limitMs: number): Promise<void> {
    const { cookies } = state;
    const isSet = isCookiesOnly(state)
      ? this.mux.call("Storage.setCookies", { cookies })
      : this.playwrights.seed(state);
    await inBrowser(isSet, limitMs, this.died);
  }

  /** Opens the way out of the browser, once it has a session. */
  open(): void {
    this.#parts.forwarder.open();
  }

  /** Ends the browser and removes all that belongs to it. */
  close(): Promise<void> {
    this.#closing ??= removeSlot(this.#parts);
    return this.#closing;
  }
}

/** Waits for work on a browser. Rejects when the work takes longer than `ms`, or when the browser dies before it is done. */
export async function inBrowser(
  work: Promise<unknown>,
  ms: number,
  died: Promise<void>,
): Promise<void> {
  const failed = died.then(() => Promise.reject(new Error("the browser died")));
  const first = await inTime(Promise.race([work, failed]), ms);
  if (first === LATE) throw new Error("the browser took too long");
}

/** Ends the browser of a slot, if there is one, and removes what the slot has on this host. */
export async function removeSlot(parts: SlotParts): Promise<void> {
  const { process, forwarder, cgroups, folder, shared } = parts;
  await process?.kill();
  forwarder.close();
  await removeGroups(cgroups);
  for (const path of [folder, shared.files, shared.egress])
    await rm(path, { recursive: true, force: true, maxRetries: 5 });
}
