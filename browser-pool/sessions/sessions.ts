import { randomUUID } from "node:crypto";
import type { BrowserKind } from "@svc/contract/browser/session.ts";
import type { HostEndReason, SlotReport } from "@svc/contract/host-protocol/heartbeat.ts";
import type { PlaceSlot } from "@svc/contract/host-protocol/slots.ts";
import type { Log } from "@svc/host-kit/log.ts";
import { type Placed, Placement } from "./placement.ts";
import type { StoredState } from "./profile.ts";
import { type EndReason, Session } from "./session.ts";
import type { Shelf } from "./shelf.ts";
import type { Slot } from "./slot.ts";

/** How long the id of an ended session is refused: as long as a late PUT of it may be under way. */
const REFUSED_MS = 120_000;
const NO_STATE: StoredState = { cookies: [], origins: [] };

export interface PoolOptions {
  shelf: Shelf;
  log: Log;
  /** Why a kind is not served here, with the fix; null when it is. */
  hintOf: (kind: BrowserKind) => string | null;
  /** Brings the state that the gateway keeps under a path. */
  fetchState: (path: string, caller: AbortSignal) => Promise<StoredState>;
  /** How long a browser may take to load it. */
  loadMs: number;
  /** Something changed that the gateway shall know. */
  onChange: () => void;
  /** A session has ended that the gateway takes for alive. */
  onLoss: () => void;
}

/** The sessions placed on this host. Knows nothing of HTTP. */
export class Pool {
  readonly bootId = randomUUID();
  readonly #options: PoolOptions;
  readonly #sessions = new Map<string, Session>();
  readonly #placements = new Map<string, Placement>();
  readonly #ended = new Map<string, SlotReport>();
  readonly #refused = new Map<string, NodeJS.Timeout>();
  #seq = 0;
  #isDraining = false;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  get isDraining(): boolean {
    return this.#isDraining;
  }

  get busy(): number {
    return this.#sessions.size;
  }

  get(id: string): Session | null {
    return this.#sessions.get(id) ?? null;
  }

  /** The number of a heartbeat or a placement: a later one knows of every earlier one. */
  nextSeq(): number {
    this.#seq += 1;
    return this.#seq;
  }

  /** Every session held, and every one ended here that the gateway has not heard of. */
  reports(): SlotReport[] {
    return [
      ...[...this.#sessions.values()].map((session) => session.report()),
      ...this.#ended.values(),
    ];
  }

  /** The gateway has heard of these. */
  forget(reports: SlotReport[]): void {
    for (const report of reports) if (report.ended) this.#ended.delete(report.id);
  }

  /** Places a session. The same id again finds what the first call got, or waits for it. */
  place(id: string, ask: PlaceSlot, caller: AbortSignal): Promise<Placed> {
    const held = this.#sessions.get(id);
    if (held) return Promise.resolve({ outcome: "placed", placed: held.placed });
    if (this.#refused.has(id) || ask.expiresAt <= Date.now())
      return Promise.resolve({ outcome: "none", error: "This session has ended." });
    const running = this.#placements.get(id);
    if (running) return running.watch(caller);
    const hint = this.#isDraining ? "This pool is draining." : this.#options.hintOf(ask.kind);
    if (hint !== null) return Promise.resolve({ outcome: "unserved", hint });
    const placement = new Placement((signal) => this.#take(id, ask, signal));
    this.#placements.set(id, placement);
    return placement.watch(caller);
  }

  /** Ends a session because the gateway says so; also one whose placement is under way or on its way. */
  end(id: string): void {
    this.#refuse(id);
    this.#placements.get(id)?.cancel();
    this.#finish(id, "told");
  }

  /** Takes no new session; those here end by themselves. */
  async drain(): Promise<void> {
    this.#isDraining = true;
    this.#options.onChange();
    await this.#options.shelf.shut();
  }

  /** Ends the sessions of a gateway that has been away for too long. */
  orphanAll(): void {
    for (const id of this.#sessions.keys()) this.#finish(id, "orphaned");
  }

  /** Ends everything, for the end of the process. */
  async close(): Promise<void> {
    this.#isDraining = true;
    for (const timer of this.#refused.values()) clearTimeout(timer);
    const slots = [...this.#sessions.values()].map((session) => session.slot);
    for (const id of this.#sessions.keys()) this.#finish(id, "stopped");
    await this.#options.shelf.shut();
    await Promise.all(slots.map((slot) => slot.close()));
  }

  async #take(id: string, ask: PlaceSlot, signal: AbortSignal): Promise<Placed> {
    try {
      return await this.#find(id, ask, signal);
    } finally {
      this.#placements.delete(id);
    }
  }

  async #find(id: string, ask: PlaceSlot, signal: AbortSignal): Promise<Placed> {
    const asked = performance.now();
    const { shelf, fetchState, loadMs } = this.#options;
    const path = ask.profile?.statePath;
    // Before a browser is taken for it: one that cannot be had costs none.
    const state = path ? await fetchState(path, signal).catch(() => null) : NO_STATE;
    const slot = state && (await shelf.take(ask.acquireMs, signal));
    if (state && !slot) return { outcome: "none", error: "No slot became free in time." };
    const isSeeded = slot && (await seed(slot, state, loadMs));
    if (isSeeded && !signal.aborted) return this.#open(id, ask, slot, performance.now() - asked);
    if (slot) void shelf.retire(slot);
    if (signal.aborted) return { outcome: "none", error: "This session has ended." };
    // Without the reason's words: they may quote the state.
    this.#options.log.warn({ slot: slot?.number }, "a profile was not loaded");
    return { outcome: "failed", error: "The profile could not be loaded." };
  }

  #open(id: string, ask: PlaceSlot, slot: Slot, tookMs: number): Placed {
    const acquiredMs = Math.round(tookMs * 10) / 10;
    const placed = { acquiredMs, bootId: this.bootId, seq: this.nextSeq() };
    const session = new Session(id, ask, slot, placed, {
      change: this.#options.onChange,
      deadline: () => this.#finish(id, "expired"),
    });
    this.#sessions.set(id, session);
    slot.open();
    void slot.died.then(() => this.#finish(id, "browser_crashed"));
    this.#options.log.info({ slot: slot.number, acquiredMs }, "a session was placed");
    this.#options.onChange();
    return { outcome: "placed", placed };
  }

  #finish(id: string, reason: EndReason): void {
    const session = this.#sessions.get(id);
    if (!session) return;
    this.#sessions.delete(id);
    session.end(reason);
    this.#options.log.info({ slot: session.slot.number, reason }, "a session ended");
    if (isOwn(reason)) {
      this.#ended.set(id, session.report(reason));
      this.#refuse(id);
      this.#options.onLoss();
    } else this.#options.onChange();
    void this.#options.shelf.retire(session.slot);
  }

  #refuse(id: string): void {
    clearTimeout(this.#refused.get(id));
    const timer = setTimeout(() => this.#refused.delete(id), REFUSED_MS);
    this.#refused.set(id, timer.unref());
  }
}

function seed(slot: Slot, state: StoredState, limitMs: number): Promise<boolean> {
  if (state === NO_STATE) return Promise.resolve(true);
  return slot.seed(state, limitMs).then(
    () => true,
    () => false,
  );
}

// The gateway knows what it told this host, and learns from its silence that it stopped.
function isOwn(reason: EndReason): reason is HostEndReason {
  return reason !== "told" && reason !== "stopped";
}
