import { chmod, mkdir, mkdtemp, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { RecordingMask } from "@svc/contract/browser/recording.ts";
import { claimFolder, leftOversIn, removeFolder, thisProcess } from "@svc/host-kit/run-folders.ts";
import { type Log, messageOf } from "@svc/host-kit/log.ts";
import { pageScript, readRrweb } from "./page-script.ts";
import { Recording } from "./recording.ts";
import { recoverReplays } from "./recovery.ts";
import { ReplayFile } from "./replay-file.ts";
import { GatewayReplays } from "./replay-store.ts";
import { Uploads } from "./uploads.ts";
import { DRAFT, FINISHED, type WaitingReplay, stemOf } from "./waiting-replay.ts";

const RUN = "run-";

export interface RecordingsOptions {
  /** The pool's part of the state folder: replays outlive a run. */
  folder: string;
  gatewayUrl: string;
  hostToken: string;
  log: Log;
}

/** The session that is recorded, its org and its mask. */
export interface Recorded {
  org: string;
  id: string;
  mask: RecordingMask | null;
}

/** The recordings of a pool: those of its sessions, and those of earlier runs that wait for their upload. */
export class Recordings {
  readonly #log: Log;
  readonly #folder: string;
  readonly #rrweb: string;
  readonly #store: GatewayReplays;
  readonly #uploads: Uploads;
  readonly #open = new Set<Recording>();
  readonly #abort: AbortController;

  private constructor(options: RecordingsOptions, folder: string, rrweb: string) {
    const { gatewayUrl, hostToken, log } = options;
    this.#log = log;
    this.#folder = folder;
    this.#rrweb = rrweb;
    this.#abort = new AbortController();
    this.#store = new GatewayReplays({ gatewayUrl, hostToken, signal: this.#abort.signal });
    this.#uploads = new Uploads(this.#store, log);
  }

  /** Null where this pool cannot record: the log tells why. What earlier runs have left is recovered and uploaded meanwhile. */
  static async open(options: RecordingsOptions): Promise<Recordings | null> {
    const { log } = options;
    const parent = join(options.folder, "recordings");
    try {
      const rrweb = await readRrweb();
      await mkdir(parent, { recursive: true, mode: 0o700 });
      const { dev, ino } = await stat(parent);
      const self = await thisProcess(`${dev}:${ino}`);
      const left = await leftOversIn(parent, RUN, self);
      const folder = await mkdtemp(join(parent, RUN));
      await claimFolder(folder, self);
      await chmod(folder, 0o700);
      const recordings = new Recordings(options, folder, rrweb);
      void recordings.#recover(left.map((each) => each.folder));
      return recordings;
    } catch (error) {
      log.warn({ reason: messageOf(error) }, "recording_not_possible");
      return null;
    }
  }

  /** The recording of a session, which is to begin. Null when the disk takes nothing: the session goes on without. */
  async create({ org, id, mask }: Recorded): Promise<Recording | null> {
    const stem = join(this.#folder, stemOf(org, id));
    const draft = stem + DRAFT;
    const facts = { version: 1, ...(mask !== null && { mask }) };
    const file = await ReplayFile.create(draft, facts, Date.now()).catch((error: unknown) => {
      this.#log.error({ reason: messageOf(error) }, "replay_lost");
      return null;
    });
    if (!file) {
      await rm(draft, { force: true });
      this.#nothing(id);
      return null;
    }
    const recording: Recording = new Recording({
      file,
      draft,
      waiting: { path: stem + FINISHED, org, session: id },
      script: (binding) => pageScript(this.#rrweb, binding, mask),
      log: this.#log,
      onEnd: (end) => {
        this.#open.delete(recording);
        if (typeof end === "object") this.#bring(end);
        else if (end === "lost") this.#nothing(id);
      },
    });
    this.#open.add(recording);
    return recording;
  }

  /** Waits until what is recorded is on the disk, and for uploads for a moment. What is left is the next start's. */
  async close(): Promise<void> {
    await Promise.all(
      [...this.#open].map(async (each) => {
        await each.stop();
        await each.finished;
      }),
    );
    await this.#uploads.close();
    this.#abort.abort();
    if (this.#uploads.size === 0) await removeFolder(this.#folder);
  }

  #bring(replay: WaitingReplay): void {
    this.#uploads.add(replay).catch((error: unknown) => {
      this.#log.error({ reason: messageOf(error) }, "replay_lost");
    });
  }

  /** The gateway stops waiting. If it does not hear of this, it does by itself in the end. */
  #nothing(id: string): void {
    this.#store.report(id, { state: "none" }).catch((error: unknown) => {
      this.#log.warn({ reason: messageOf(error) }, "replay_end_not_told");
    });
  }

  async #recover(folders: string[]): Promise<void> {
    for (const folder of folders) {
      const replays = await recoverReplays(folder, this.#folder, this.#log).catch((error) => {
        this.#log.error({ reason: messageOf(error) }, "replay_not_recovered");
        return [];
      });
      for (const replay of replays) this.#bring(replay);
    }
  }
}
