import type { HostRecord } from "@svc/contract/admin/hosts.ts";
import type { PlaceVm } from "@svc/contract/host-protocol/vms.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { noteCopy } from "../../control-plane/record-copies.ts";
import type { Origin } from "../fleet/restorable.ts";
import type { Subject } from "../host-calls/slots.ts";
import { atMost } from "../live/deadline.ts";
import { tried } from "../live/tried.ts";
import { endVm, placeVm, type PlaceVmAnswer } from "../host-calls/vms.ts";

/** A sandbox looking for a host. */
export interface VmSeeker {
  subject: Subject;
  body: PlaceVm;
  /** How long the search may take, in ms. */
  acquireMs: number;
  /** What the machine goes on from, when that is a snapshot or a template. */
  origin?: Origin;
  /** How long a host may take that has to fetch what the machine goes on from, in ms; by default `LIMITS.fetchForkMs`. */
  fetchMs?: number;
  /** Whether the machine is still wanted: a DELETE may come first. */
  isWanted(): boolean;
  /** Called when a host is at work on the machine: there is time for what need not be done before. */
  onAsked?(): void;
}

/** The answer of a host that was asked for a machine. */
export interface Attempted {
  host: HostRecord;
  answer: PlaceVmAnswer;
  /** The host had to fetch what the machine begins from. */
  isFetching: boolean;
}

/** Hosts that are being asked for one machine: the next host need not wait until the one before has answered. */
export class VmAttempts {
  readonly #env: Env;
  readonly #seeker: VmSeeker;
  readonly #deadline: number;
  readonly #pending = new Map<HostRecord, Promise<Attempted>>();

  constructor(env: Env, seeker: VmSeeker) {
    this.#env = env;
    this.#seeker = seeker;
    this.#deadline = Date.now() + seeker.acquireMs;
  }

  /** Whether there is still time, and someone who wants the machine. */
  get isWorthIt(): boolean {
    return Date.now() < this.#deadline && this.#seeker.isWanted();
  }

  /** How long a host may say nothing before a free host is asked too. A machine with volumes must never be made twice. */
  get patienceMs(): number {
    const { body, acquireMs } = this.#seeker;
    return body.volumes?.length ? Infinity : Math.min(LIMITS.vmPatienceMs, acquireMs / 3);
  }

  begin(host: HostRecord): void {
    const seeker = this.#seeker;
    const { subject, body, fetchMs = LIMITS.fetchForkMs } = seeker;
    const isFetching = !this.holds(host);
    const waitMs = this.#deadline - Date.now() + LIMITS.hostAnswerMs;
    const mostMs = isFetching ? Math.max(fetchMs, waitMs) : waitMs;
    const noted = isFetching ? this.#note(host) : Promise.resolve();
    const patience = { ms: mostMs, onSent: () => seeker.onAsked?.() };
    const asked = noted.then(() => placeVm(this.#env, host.url, subject, body, patience));
    this.#pending.set(
      host,
      asked.then((answer) => ({ host, answer, isFetching })),
    );
  }

  /** Whether a host has what the machine begins from. A host without it fetches it from the object store, which takes its time. */
  holds({ hostId, templates }: HostRecord): boolean {
    const { body, origin } = this.#seeker;
    const { source } = body;
    if (source.type === "image" || hostId === origin?.saved?.hostId) return true;
    return templates?.includes(source.id) === true;
  }

  /** Notes which host fetches, so that a repeat goes there too. It only saves time: a note that fails is no fault. */
  async #note({ hostId }: HostRecord): Promise<void> {
    const { source } = this.#seeker.body;
    if (source.type === "image") return;
    const noting = noteCopy(this.#env.DB, { recordId: source.id, hostId }, Date.now());
    await tried("copy_not_noted", atMost(LIMITS.objectCallMs, noting));
  }

  /** The next answer; null when none came within `ms`, or none is to come. */
  async next(ms = Infinity): Promise<Attempted | null> {
    if (this.#pending.size === 0) return null;
    const answer = Promise.race(this.#pending.values());
    const first = Number.isFinite(ms) ? await atMost(ms, answer).catch(() => null) : await answer;
    if (first) this.#pending.delete(first.host);
    return first;
  }

  async #giveBack(late: Promise<Attempted>): Promise<void> {
    const { host, answer } = await late;
    if (answer.type === "placed") await endVm(this.#env, host.url, this.#seeker.subject);
  }

  /** Ends machines that hosts still make in vain, as soon as they say that the machine is there. */
  close(): void {
    for (const late of this.#pending.values())
      // Its next heartbeat ends what this leaves.
      void tried("machine_not_given_back", this.#giveBack(late));
  }
}
