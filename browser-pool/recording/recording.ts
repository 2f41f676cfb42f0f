import { rename, rm } from "node:fs/promises";
import { type Log, messageOf } from "@svc/host-kit/log.ts";
import type { CdpMux } from "../cdp/mux.ts";
import { Recorder } from "./recorder.ts";
import { type ReplayFile, customLine } from "./replay-file.ts";
import type { WaitingReplay } from "./waiting-replay.ts";

/** How old what was recorded is at most before it is on the disk: after a kill, all but that is there. */
const FLUSH_MS = 500;
const TOO_SLOW = "a page was too busy to give its last events";

export interface RecordingParts {
  file: ReplayFile;
  /** Where the file is while it is written, and as what it waits for its upload. */
  draft: string;
  waiting: WaitingReplay;
  /** The page script that gives its lines to a binding. */
  script: (binding: string) => string;
  log: Log;
  /** Called once at the end: with the finished replay, or with the word that there is none. */
  onEnd: (end: WaitingReplay | "lost" | "dropped") => void;
}

/** The recording of one session, from its placement to its end. */
export class Recording {
  readonly #parts: RecordingParts;
  readonly #timer: NodeJS.Timeout;
  #recorder: Recorder | null = null;
  #stopping: Promise<void> | null = null;
  #isDropped = false;
  /** Resolves when the file is finished: the replay waits for its upload. */
  readonly finished: Promise<void>;
  readonly #finished = Promise.withResolvers<void>();

  constructor(parts: RecordingParts) {
    this.#parts = parts;
    this.finished = this.#finished.promise;
    this.#timer = setInterval(() => void parts.file.flush(), FLUSH_MS);
  }

  /** Records a browser from now on. Rejects when the browser dies meanwhile. */
  async begin(mux: CdpMux): Promise<void> {
    const { script, file } = this.#parts;
    this.#recorder = await Recorder.start(mux, script, (line) => {
      file.add(line);
      // The file takes no more lines.
      if (file.cut !== null) this.#recorder?.close();
    });
  }

  /** Hides all that is typed from now on, or no longer. In force when this resolves. */
  async hideInput(isHidden: boolean): Promise<void> {
    await this.#recorder?.hideInput(isHidden);
  }

  /** Adds an event of the service itself in a tab. `tag` begins with the name of what tells of it, as in `captcha.solved`. */
  note(tag: string, tabId: string, payload: object): void {
    const { file } = this.#parts;
    if (this.#stopping === null) file.add(customLine(tag, payload, Date.now(), tabId));
  }

  /** Nobody has got the session: there is to be no replay. */
  drop(): void {
    this.#isDropped = true;
  }

  /** Takes the last events of the browser, which may be gone by now. The file is finished later: `finished`. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    const endedAt = Date.now();
    const isWhole = (await this.#recorder?.stop()) ?? true;
    clearInterval(this.#timer);
    void this.#finish(endedAt, isWhole ? null : TOO_SLOW).finally(this.#finished.resolve);
  }

  async #finish(endedAt: number, missing: string | null): Promise<void> {
    const { file, draft, waiting, log, onEnd } = this.#parts;
    try {
      const { lines, cut } = await file.finish(endedAt, missing);
      if (cut !== null) log.warn({ reason: cut }, "replay_cut");
      if (this.#isDropped) {
        await rm(draft, { force: true });
        onEnd("dropped");
        return;
      }
      await rename(draft, waiting.path);
      onEnd({ ...waiting, lines });
    } catch (error) {
      log.error({ reason: messageOf(error) }, "replay_lost");
      onEnd("lost");
    }
  }
}
