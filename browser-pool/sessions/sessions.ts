import { randomUUID } from "node:crypto";
import type { BrowserKind } from "@svc/contract/browser/session.ts";
import type { WireVersion } from "@svc/contract/browser/wire-versions.ts";
import type { HostEndReason, SlotReport } from "@svc/contract/host-protocol/heartbeat.ts";
import type { PlaceSlot, SlotWish } from "@svc/contract/host-protocol/slots.ts";
import { type Log, messageOf } from "@svc/host-kit/log.ts";
import { NO_SLOT, type Placed, Placement, type Wanted } from "./placement.ts";
import { type EndReason, Session } from "./session.ts";
import { ProfileFault } from "../profiles/fault.ts";
import { beginLadder } from "../proxies/begin-ladder.ts";
import type { Ladder } from "../proxies/ladder.ts";
import type { Exit, Exits } from "../proxies/exits.ts";
import { type CaptchaMeans, beginSolving } from "../captcha/begin.ts";
import type { Profiles } from "../profiles/profiles.ts";
import type { ProfileSaver } from "../profiles/save-on-end.ts";
import type { Recordings } from "../recording/recordings.ts";
import { KINDS, type Shelves } from "../slots/shelves.ts";
import type { Slot } from "../slots/slot.ts";
import { keptWishes } from "./wishes.ts";

/** How long the id of an ended session is refused: a late PUT of it may be under way so long. */
const REFUSED_MS = 120_000;
const ENDED = { outcome: "none", error: "This session has ended." } as const;

/** The session that is placed, and whose it is. */
export interface Subject {
  id: string;
  org: string;
  /** The minor that its clients will speak; null when that is not known. */
  version: WireVersion | null;
}

export interface SessionsOptions {
  shelves: Shelves;
  log: Log;
  /** Why a kind is not served here, with the fix; null when it is. */
  hintOf: (kind: BrowserKind) => string | null;
  profiles: Profiles;
  saver: ProfileSaver;
  exits: Exits;
  /** Null: no captcha provider is configured. */
  captcha: CaptchaMeans | null;
  /** Null where this pool cannot record. */
  recordings: Recordings | null;
  /** The gateway should hear of a change. */
  onChange: () => void;
  /** A session has ended that the gateway takes for alive. */
  onLoss: () => void;
}

/** A slot for a session, and the exit by which it leaves, if there is one. */
interface Taken {
  slot: Slot;
  exit: Exit | null;
  ladder: Ladder | null;
  /** Null: not wished. */
  captcha: { active: boolean } | null;
}

/** The sessions placed on this host. Knows nothing of HTTP. */
export class Sessions {
  readonly bootId = randomUUID();
  readonly #options: SessionsOptions;
  readonly #sessions = new Map<string, Session>();
  readonly #placements = new Map<string, Placement>();
  readonly #ended = new Map<string, SlotReport>();
  readonly #refused = new Map<string, NodeJS.Timeout>();
  #seq = 0;
  #isDraining = false;

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  get isDraining(): boolean {
    return this.#isDraining;
  }

  /** The wishes that this pool keeps. */
  get keptWishes(): SlotWish[] {
    return keptWishes(this.#options.recordings !== null);
  }

  get count(): number {
    return this.#sessions.size;
  }

  countOf(kind: BrowserKind): number {
    return [...this.#sessions.values()].filter(({ slot }) => slot.kind === kind).length;
  }

  get(id: string): Session | null {
    return this.#sessions.get(id) ?? null;
  }

  /** The sequence number of a heartbeat or a placement: the holder of a later number knows of every earlier one. */
  nextSeq(): number {
    this.#seq += 1;
    return this.#seq;
  }

  /** Reports of every session, and of every session that ended here and of which the gateway has not heard. */
  reports(): SlotReport[] {
    return [
      ...[...this.#sessions.values()].map((session) => session.report()),
      ...this.#ended.values(),
    ];
  }

  /** The report of one session, also of one that ended here and of which the gateway has not heard. */
  report(id: string): SlotReport | null {
    return this.#sessions.get(id)?.report() ?? this.#ended.get(id) ?? null;
  }

  /** Forgets ended sessions that the gateway has heard of. */
  forget(reports: SlotReport[]): void {
    for (const report of reports) if (report.ended) this.#ended.delete(report.id);
  }

  /** Places a session. A second call with the same id gets the result of the first, or waits for it. */
  place(subject: Subject, ask: PlaceSlot, caller: AbortSignal): Promise<Placed> {
    const { id } = subject;
    const held = this.#sessions.get(id);
    if (held) return Promise.resolve({ outcome: "placed", placed: held.placed });
    if (this.#refused.has(id) || ask.expiresAt <= Date.now()) return Promise.resolve(ENDED);
    const running = this.#placements.get(id);
    if (running) return running.watch(ask.acquireMs, caller);
    const hint = this.#isDraining ? "This pool is draining." : this.#options.hintOf(ask.kind);
    if (hint !== null) return Promise.resolve({ outcome: "unserved", hint });
    const placement = new Placement((wanted) => this.#take(subject, ask, wanted));
    this.#placements.set(id, placement);
    return placement.watch(ask.acquireMs, caller);
  }

  /** Ends a session because the gateway says so, also while its placement is under way, or has yet to arrive. */
  end(id: string): void {
    this.#refuse(id);
    this.#placements.get(id)?.cancel();
    this.#finish(id, "told");
  }

  /** Takes no new session; the sessions here end by themselves. */
  async drain(): Promise<void> {
    this.#isDraining = true;
    this.#options.onChange();
    await this.#shut();
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
    await this.#shut();
    await Promise.all(slots.map((slot) => slot.close()));
  }

  async #shut(): Promise<void> {
    await Promise.all(KINDS.map((kind) => this.#options.shelves[kind].shut()));
  }

  async #take(subject: Subject, ask: PlaceSlot, wanted: Wanted): Promise<Placed> {
    try {
      return await this.#find(subject, ask, wanted);
    } finally {
      this.#placements.delete(subject.id);
    }
  }

  async #find(subject: Subject, ask: PlaceSlot, wanted: Wanted): Promise<Placed> {
    const { signal } = wanted;
    const asked = performance.now();
    const { shelves, profiles } = this.#options;
    const warmSlots = shelves[ask.kind];
    // Fetched before a browser is taken: a profile that cannot be had costs no browser.
    const profile = ask.profile ? await profiles.fetch(ask.profile.statePath, signal) : null;
    if (signal.aborted) return ENDED;
    if (profile instanceof ProfileFault) return { outcome: "failed", fault: profile };
    const wish = { waits: ask.acquireMs > 0, since: ask.waitingSince ?? Date.now() };
    if (wish.waits) wanted.waits();
    const slot = await warmSlots.take(wish, signal);
    if (!slot) return NO_SLOT;
    if (!(await wanted.found())) {
      warmSlots.giveBack(slot);
      return NO_SLOT;
    }
    slot.playwrights.giveTo(subject.org, subject.version);
    const [fault, exit] = await Promise.all([
      profile && profile.loadInto(slot),
      this.#exitFor(subject, ask, signal),
    ]);
    if (exit) await slot.leaveBy(exit);
    const climbs = !fault && ask.proxy === "smart";
    const ladder = climbs ? await beginLadder(subject.org, slot, this.#options) : null;
    const isReady = !fault && !signal.aborted && (await this.#record(subject, ask, slot));
    const solves = isReady && !signal.aborted && ask.captcha;
    const captcha = solves
      ? await beginSolving(slot, this.#options.captcha, this.#options.log)
      : null;
    if (isReady && !signal.aborted && !slot.isDead) {
      const taken = { slot, exit, ladder, captcha };
      return this.#open(subject.id, ask, taken, performance.now() - asked);
    }
    slot.dropRecording();
    void warmSlots.retire(slot);
    if (signal.aborted) return ENDED;
    return fault ? { outcome: "failed", fault } : NO_SLOT;
  }

  /** Begins a recording, if one is wanted. False: the browser has died meanwhile. */
  async #record({ id, org }: Subject, { recording }: PlaceSlot, slot: Slot): Promise<boolean> {
    const { recordings, log } = this.#options;
    if (!recording || !recordings) return true;
    const { mask = null } = recording;
    const begun = await recordings.create({ org, id, mask });
    try {
      if (begun) await slot.record(begun);
      return true;
    } catch (error) {
      log.warn({ slot: slot.number, reason: messageOf(error) }, "recording_not_begun");
      return false;
    }
  }

  #exitFor({ org }: Subject, { proxy }: PlaceSlot, signal: AbortSignal): Promise<Exit | null> {
    if (!proxy || proxy === "smart") return Promise.resolve(null);
    return this.#options.exits.open(org, proxy, signal);
  }

  #open(
    id: string,
    ask: PlaceSlot,
    { slot, exit, ladder, captcha }: Taken,
    tookMs: number,
  ): Placed {
    const acquiredMs = Math.round(tookMs * 10) / 10;
    const proxy = exit ? { proxy: exit.applied } : {};
    const placed = {
      acquiredMs,
      bootId: this.bootId,
      seq: this.nextSeq(),
      ...proxy,
      ...(captcha && { captcha }),
    };
    const session = new Session(id, ask, { slot, ladder }, placed, {
      change: this.#options.onChange,
      deadline: () => this.#finish(id, "expired"),
    });
    this.#sessions.set(id, session);
    slot.open(ask.allowedDomains ?? []);
    const { saveProfile } = ask;
    if (saveProfile !== undefined)
      slot.beforeEnd(() => this.#options.saver.save(id, saveProfile, slot));
    void slot.died.then(() => this.#finish(id, "browser_crashed"));
    this.#options.log.info({ slot: slot.number, acquiredMs, ...proxy }, "session_placed");
    this.#options.onChange();
    return { outcome: "placed", placed };
  }

  #finish(id: string, reason: EndReason): void {
    const session = this.#sessions.get(id);
    if (!session) return;
    this.#sessions.delete(id);
    session.end(reason);
    const { number: slot, excess } = session.slot;
    this.#options.log.info({ slot, reason, ...(excess && { excess }) }, "session_ended");
    if (isOwn(reason)) {
      this.#ended.set(id, session.report(reason));
      this.#refuse(id);
      this.#options.onLoss();
    } else this.#options.onChange();
    void this.#options.shelves[session.slot.kind].retire(session.slot);
  }

  #refuse(id: string): void {
    clearTimeout(this.#refused.get(id));
    const timer = setTimeout(() => this.#refused.delete(id), REFUSED_MS);
    this.#refused.set(id, timer.unref());
  }
}

// The gateway knows what it told this host, and learns from the host's silence that the host stopped.
function isOwn(reason: EndReason): reason is HostEndReason {
  return reason !== "told" && reason !== "stopped";
}
