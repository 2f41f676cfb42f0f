import { rm } from "node:fs/promises";
import type { BrowserKind } from "@svc/contract/browser/session.ts";
import type { StorageState } from "@svc/contract/browser/storage-state.ts";
import { removeGroups } from "@svc/host-kit/cgroups.ts";
import { inTime } from "@svc/host-kit/deadline.ts";
import { type CaptchaEvent, CaptchaSolver, type CaptchaSolverOptions } from "../captcha/solver.ts";
import type { CdpMux } from "../cdp/mux.ts";
import type { CdpPipe } from "../cdp/pipe.ts";
import type { Forwarder } from "../egress/forwarder.ts";
import type { SessionFiles } from "../files/session-files.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { FILES_CAP } from "../launch/caps.ts";
import type { SandboxedProcess } from "../launch/process.ts";
import type { SlotPlaywrights } from "../playwrights/slot-playwrights.ts";
import { type Lost, loadState } from "../profiles/load.ts";
import { LiveState } from "../profiles/live-state.ts";
import type { VisitedOrigins } from "../profiles/visited.ts";
import type { Exit } from "../proxies/exits.ts";
import type { Shim } from "../stealth/shim.ts";
import type { Recording } from "../recording/recording.ts";
import { inBrowser } from "../launch/in-browser.ts";
import { watchFolder } from "./folder-watch.ts";

/** Refusals that the forwarder tells in a page of its own, as `Failures` has them. */
const OWN_REFUSAL = /^net::ERR_(?:BLOCKED_BY_ADMINISTRATOR|INSUFFICIENT_RESOURCES)/;
const MIB = 1024 ** 2;
/** A target that does not answer keeps nobody waiting: it is told before anybody else reaches it. */
const MOVE_MS = 1_000;

/** The parts of a slot that need an end. */
export interface SlotParts {
  folder: string;
  /** The folder of files of uploads and downloads, and the socket that API requests leave by. */
  shared: { files: string; egress: string };
  /** The folder of the files that are kept for the customer. */
  kept: string;
  files: SessionFiles;
  forwarder: Forwarder;
  cgroups: string[];
  process: SandboxedProcess | null;
}

/** A browser that has started, and what drives it. */
export interface Browser {
  pipe: CdpPipe;
  mux: CdpMux;
  playwrights: SlotPlaywrights;
  visited: VisitedOrigins;
  /** Null: the browser is of kind `fast`. */
  shim: Shim | null;
  /** Resolves when the browser has died, by itself or by `close` of its slot. */
  died: Promise<void>;
}

/** The names of a slot. */
export interface SlotNames {
  /** Counts the launches of this run; names the slot in log lines. */
  number: number;
  /** Its place among the slots of all kinds of the pool, from which it has its uid. */
  index: number;
  kind: BrowserKind;
}

/** A browser, warm or in use. A slot serves at most one session and is never used again. */
export class Slot implements SlotNames {
  readonly number: number;
  readonly index: number;
  readonly kind: BrowserKind;
  readonly pipe: CdpPipe;
  readonly mux: CdpMux;
  readonly playwrights: SlotPlaywrights;
  /** The state of the default context, as it is at any time. */
  readonly state: LiveState;
  /** Resolves when the browser has died, by itself or by `close`. */
  readonly died: Promise<void>;
  readonly #parts: SlotParts;
  readonly #shim: Shim | null;
  #closing: Promise<void> | null = null;
  #recording: Recording | null = null;
  #solver: CaptchaSolver | null = null;
  #beforeEnd: (() => Promise<void>) | null = null;
  #unwatch: (() => void) | null = null;
  #excess: string | null = null;
  #isDead = false;

  constructor({ number, index, kind }: SlotNames, parts: SlotParts, browser: Browser) {
    this.number = number;
    this.index = index;
    this.kind = kind;
    this.#parts = parts;
    this.pipe = browser.pipe;
    this.mux = browser.mux;
    this.playwrights = browser.playwrights;
    this.died = browser.died;
    this.state = new LiveState(browser.mux, browser.visited, browser.died);
    this.#shim = browser.shim;
    void this.died.then(() => (this.#isDead = true));
  }

  /** Whether the browser has died. */
  get isDead(): boolean {
    return this.#isDead;
  }

  /** The downloads and uploads of the session. */
  get files(): SessionFiles {
    return this.#parts.files;
  }

  /** What the slot took beyond its caps, when its browser was ended for that. */
  get excess(): string | null {
    return this.#excess;
  }

  /** The pid of the slot's outermost process. */
  get pid(): number | null {
    return this.#parts.process?.pid ?? null;
  }

  /**
   * Gives the default context a storage state; returns what of it the browser did not take. Rejects when that takes too
   * long or `caller` goes away: the slot is of no use then.
   */
  async seed(state: StorageState, limitMs: number, caller: AbortSignal): Promise<Lost> {
    const gone = Promise.withResolvers<never>();
    const leave = (): void => gone.reject(new Error("nobody waits for the browser"));
    caller.addEventListener("abort", leave);
    if (caller.aborted) leave();
    try {
      const loaded = Promise.race([loadState(this, state), gone.promise]);
      this.state.began(state);
      return await inBrowser(loaded, limitMs, this.died);
    } finally {
      caller.removeEventListener("abort", leave);
    }
  }

  /**
   * Opens the way out of the browser, once it has a session, and sees to it that the session keeps to its cap of files.
   * `allowedDomains`: nothing else is reached; none: no restriction.
   */
  open(allowedDomains: readonly string[]): void {
    const { forwarder, shared, process } = this.#parts;
    forwarder.confine(allowedDomains);
    forwarder.open();
    this.#unwatch = watchFolder(shared.files, FILES_CAP, () => {
      this.#excess = `files beyond ${FILES_CAP.bytes / MIB} MiB or ${FILES_CAP.entries} entries`;
      void process?.kill();
    });
  }

  /** Replaces the domains that the browser reaches. They are in force when this returns. */
  confine(allowedDomains: readonly string[]): void {
    this.#parts.forwarder.confine(allowedDomains);
  }

  /**
   * Has the browser leave by an exit, and tell the time and the language of its place. Connections that left by another way
   * are closed before this returns its promise, which resolves when open pages know of the place.
   */
  async leaveBy(exit: Exit): Promise<void> {
    this.#parts.forwarder.leaveBy(exit);
    if (this.#shim) await inTime(this.#shim.moveTo(exit.place), MOVE_MS);
  }

  /** Whether the way out itself answered for this URL when it was last asked for: no site did then. */
  hasRefused(url: string): boolean {
    return OWN_REFUSAL.test(this.#parts.forwarder.failures.textFor(url) ?? "");
  }

  /** Records the session that gets the slot, from now to its end. Rejects when the recording does not begin. */
  async record(recording: Recording): Promise<void> {
    this.#recording = recording;
    await inBrowser(recording.begin(this.mux), LIMITS.recordingStartMs, this.died);
  }

  /** Has the recording, if there is one, hide all that is typed from now on, or no longer. In force when this resolves. */
  async hideInput(isHidden: boolean): Promise<void> {
    await this.#recording?.hideInput(isHidden);
  }

  /** Solves the captchas of the session that gets the slot, from now to its end. Rejects when that does not begin. */
  async solveCaptchas(options: CaptchaSolverOptions): Promise<void> {
    const onEvent = (event: CaptchaEvent): void => {
      const { name, tab, ...payload } = event;
      this.#recording?.note(name, tab, payload);
      options.onEvent(event);
    };
    const starting = CaptchaSolver.start(this.mux, { ...options, onEvent });
    // Also of one that is late.
    starting.then(
      (solver) => (this.#closing ? solver.close() : (this.#solver = solver)),
      () => {},
    );
    await inBrowser(starting, LIMITS.captchaStartMs, this.died);
  }

  /** Nobody has got the session: its recording comes to nothing. */
  dropRecording(): void {
    this.#recording?.drop();
  }

  /** Has work done on the browser before it is ended. The work is done soon, and never rejects. */
  beforeEnd(work: () => Promise<void>): void {
    this.#beforeEnd = work;
  }

  /** Ends the browser and removes all that belongs to it. */
  close(): Promise<void> {
    this.#unwatch?.();
    this.#parts.files.close();
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#solver?.close();
    await this.#recording?.stop();
    await this.#beforeEnd?.();
    await removeSlot(this.#parts);
  }
}

/** Ends the browser of a slot, if there is one, and removes what the slot has on this host. */
export async function removeSlot(parts: SlotParts): Promise<void> {
  const { process, forwarder, cgroups, folder, shared, kept } = parts;
  await process?.kill();
  forwarder.close();
  await removeGroups(cgroups);
  for (const path of [folder, shared.files, shared.egress, kept])
    await rm(path, { recursive: true, force: true, maxRetries: 5 });
}
