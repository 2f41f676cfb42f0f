import { rm, stat } from "node:fs/promises";
import { LIMITS } from "@svc/contract/limits.ts";
import type { RecordingReport } from "@svc/contract/host-protocol/recording.ts";
import { type Backoff, backoffMs } from "@svc/host-kit/backoff.ts";
import { inTime } from "@svc/host-kit/deadline.ts";
import { type Log, messageOf } from "@svc/host-kit/log.ts";
import type { WaitingReplay } from "./waiting-replay.ts";

const AT_ONCE = 4;
const RETRIES: Backoff = { firstMs: 500, mostMs: 30_000 };
/** Replays that wait for a store that is away take so much of the disk. Beyond it the oldest ones are given up. */
const MOST_BYTES = 4 * 1024 ** 3;
/** How long uploads that are under way may go on when the pool stops. The next start goes on with what is left. */
const STOP_MS = 5_000;

/** The calls to the gateway that uploads make. */
export interface ReplayStore {
  /** Stores the file as the replay of a session. */
  upload(replay: WaitingReplay): Promise<void>;
  report(session: string, report: RecordingReport): Promise<void>;
}

interface Waiting {
  replay: WaitingReplay;
  bytes: number;
  failures: number;
  timer?: NodeJS.Timeout;
}

/** Brings replays to the object store, however long the store is away: a day, or as long as the disk may be taken. */
export class Uploads {
  readonly #store: ReplayStore;
  readonly #log: Log;
  readonly #mostBytes: number;
  readonly #all = new Set<Waiting>();
  readonly #due: Waiting[] = [];
  readonly #running = new Set<Promise<void>>();
  #isClosed = false;

  constructor(store: ReplayStore, log: Log, mostBytes = MOST_BYTES) {
    this.#store = store;
    this.#log = log;
    this.#mostBytes = mostBytes;
  }

  /** Takes a finished replay. Its file is removed once the gateway has it. */
  async add(replay: WaitingReplay): Promise<void> {
    const { size } = await stat(replay.path);
    const waiting = { replay, bytes: size, failures: 0 };
    this.#all.add(waiting);
    this.#due.push(waiting);
    this.#work();
    await this.#makeRoom();
  }

  /** How many of those that wait have failed at least once. */
  get failed(): number {
    return [...this.#all].filter(({ failures }) => failures > 0).length;
  }

  /** How many replays wait. */
  get size(): number {
    return this.#all.size;
  }

  /** Begins no upload any more; resolves when those under way are over, soon at the latest. */
  async close(): Promise<void> {
    // What can be done at once is done: of what has failed, the next start takes care.
    this.#isClosed = true;
    for (const { timer } of this.#all) clearTimeout(timer);
    const until = performance.now() + STOP_MS;
    while (this.#running.size > 0 && performance.now() < until)
      await inTime(Promise.race(this.#running), until - performance.now());
  }

  #work(): void {
    while (this.#running.size < AT_ONCE) {
      const next = this.#due.shift();
      if (!next) return;
      const run = this.#bring(next).finally(() => {
        this.#running.delete(run);
        this.#work();
      });
      this.#running.add(run);
    }
  }

  async #bring(waiting: Waiting): Promise<void> {
    const { replay, bytes } = waiting;
    try {
      await this.#store.upload(replay);
      const { lines } = replay;
      const events = lines === undefined ? {} : { events: lines };
      await this.#store.report(replay.session, { state: "ready", sizeBytes: bytes, ...events });
      await this.#drop(waiting);
    } catch (error) {
      await this.#failed(waiting, messageOf(error));
    }
  }

  async #failed(waiting: Waiting, reason: string): Promise<void> {
    if (!this.#all.has(waiting)) return;
    waiting.failures += 1;
    if (waiting.failures === 1) this.#log.warn({ reason }, "replay_not_stored_yet");
    if (await isOld(waiting.replay)) return this.#giveUp(waiting, reason);
    if (this.#isClosed) return;
    waiting.timer = setTimeout(
      () => {
        this.#due.push(waiting);
        this.#work();
      },
      backoffMs(waiting.failures, RETRIES),
    ).unref();
  }

  async #makeRoom(): Promise<void> {
    let bytes = [...this.#all].reduce((sum, each) => sum + each.bytes, 0);
    for (const oldest of this.#all) {
      if (bytes <= this.#mostBytes) return;
      // One that is on its way just now is done soon.
      if (oldest.failures === 0) continue;
      bytes -= oldest.bytes;
      await this.#giveUp(oldest, "too many replays wait");
    }
  }

  async #giveUp(waiting: Waiting, reason: string): Promise<void> {
    this.#log.error({ reason, bytes: waiting.bytes }, "replay_given_up");
    await this.#drop(waiting);
  }

  async #drop(waiting: Waiting): Promise<void> {
    clearTimeout(waiting.timer);
    this.#all.delete(waiting);
    await rm(waiting.replay.path, { force: true });
  }
}

/** Whether the gateway has given the replay up. */
async function isOld({ path }: WaitingReplay): Promise<boolean> {
  const found = await stat(path).catch(() => null);
  return found === null || Date.now() - found.mtimeMs > LIMITS.replayPendingMs;
}
