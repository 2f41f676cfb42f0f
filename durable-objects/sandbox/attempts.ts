import type { HostRecord } from "@svc/contract/admin/hosts.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { noteCopy } from "../../control-plane/record-copies.ts";
import { atMost } from "../live/deadline.ts";
import { endVm, placeVm, type PlaceVmAnswer } from "../host-calls/vms.ts";
import type { VmSeeker } from "./find-host.ts";

/** What a host came to that was asked for a machine. */
export interface Attempted {
  host: HostRecord;
  answer: PlaceVmAnswer;
  /** It had to fetch what the machine begins from. */
  isFetching: boolean;
}

/** Hosts that are being asked for one machine: the next one need not wait until the one before has answered. */
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

  /** How long a host may say nothing before a free one is asked too. One machine with volumes may never be two. */
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

  /** Whether a host has what the machine begins from. One that has not gets it from the object store, which takes its time. */
  holds({ hostId, templates }: HostRecord): boolean {
    const { body, saved } = this.#seeker;
    const { source } = body;
    if (source.type === "image" || hostId === saved?.hostId) return true;
    return templates?.includes(source.id) === true;
  }

  /** Where it is fetched to is noted, so that a repeat goes there too. It only saves time: what fails is no fault. */
  async #note({ hostId }: HostRecord): Promise<void> {
    const { source } = this.#seeker.body;
    if (source.type === "image") return;
    const noting = noteCopy(this.#env.DB, { recordId: source.id, hostId }, Date.now());
    await atMost(LIMITS.objectCallMs, noting).catch(() => undefined);
  }

  /** The next answer; null when none came within `ms`, or none is to come. */
  async next(ms = Infinity): Promise<Attempted | null> {
    if (this.#pending.size === 0) return null;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<null>((resolve) => {
      if (Number.isFinite(ms)) timer = setTimeout(() => resolve(null), ms);
    });
    const first = await Promise.race([late, ...this.#pending.values()]);
    clearTimeout(timer);
    if (first) this.#pending.delete(first.host);
    return first;
  }

  /** What a host still makes is in vain: it is ended as soon as it says that it is there. */
  close(): void {
    for (const late of this.#pending.values())
      void late
        .then(async ({ host, answer }) => {
          if (answer.type === "placed") await endVm(this.#env, host.url, this.#seeker.subject);
        })
        // Its next heartbeat ends it.
        .catch(() => undefined);
  }
}
