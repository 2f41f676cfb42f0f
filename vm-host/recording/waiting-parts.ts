import { mkdir, readdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type Backoff, backoffMs } from "@svc/host-kit/backoff.ts";
import { inTime } from "@svc/host-kit/deadline.ts";
import { type Log, messageOf } from "@svc/host-kit/log.ts";
import { type ObjectStore, ObjectStoreError } from "@svc/host-kit/object-store.ts";

const RETRIES: Backoff = { firstMs: 500, mostMs: 30_000 };
/** Parts that wait for a store that is away take so much of the disk. What comes then is lost. */
const MOST_BYTES = 4 * 1024 ** 3;
/** How long the upload that is under way may go on when the host stops. The next start goes on with what is left. */
const STOP_MS = 500;
/** In the name of a file, between org, sandbox and part: none of them has one. */
const BETWEEN = ",";

/** A part of the recording of a desktop. */
export interface PartName {
  org: string;
  sandbox: string;
  file: string;
}

interface Waiting extends PartName {
  bytes: number;
}

export interface WaitingPartsOptions {
  /** Outlives the process of the host. */
  folder: string;
  objects: Pick<ObjectStore, "upload">;
  log: Log;
  mostBytes?: number;
}

/** Parts of recordings on their way to the object store: on the disk first, then one after the other for as long as it takes. */
export class WaitingParts {
  readonly #options: WaitingPartsOptions;
  readonly #parts: Waiting[] = [];
  readonly #closing = new AbortController();
  #running: Promise<void> | null = null;
  #failures = 0;

  private constructor(options: WaitingPartsOptions) {
    this.#options = options;
  }

  /** Goes on with what an earlier run of the host has left. */
  static async open(options: WaitingPartsOptions): Promise<WaitingParts> {
    const waiting = new WaitingParts(options);
    await mkdir(options.folder, { recursive: true, mode: 0o700 });
    for (const name of (await readdir(options.folder)).toSorted()) {
      const [org, sandbox, file] = name.split(BETWEEN);
      if (org === undefined || sandbox === undefined || file === undefined) continue;
      const path = join(options.folder, name);
      // A draft was not written whole.
      if (!file.endsWith(".webm")) await rm(path, { force: true });
      else waiting.#parts.push({ org, sandbox, file, bytes: (await stat(path)).size });
    }
    waiting.#wake();
    return waiting;
  }

  get size(): number {
    return this.#parts.length;
  }

  /** Takes a part. Throws when there is no room for it. */
  async add(part: PartName, bytes: Buffer): Promise<void> {
    const waiting = this.#parts.reduce((sum, each) => sum + each.bytes, 0);
    if (waiting + bytes.length > (this.#options.mostBytes ?? MOST_BYTES))
      throw new Error("too much waits for the object store");
    const path = this.#pathOf(part);
    const draft = `${path}.tmp`;
    try {
      await writeFile(draft, bytes, { mode: 0o600, flush: true });
      await rename(draft, path);
    } catch (error) {
      await rm(draft, { force: true });
      throw error;
    }
    this.#parts.push({ ...part, bytes: bytes.length });
    this.#wake();
  }

  /** Brings what can be brought at once. */
  async close(): Promise<void> {
    const running = this.#running ?? Promise.resolve();
    await inTime(running, STOP_MS);
    this.#closing.abort();
  }

  #pathOf({ org, sandbox, file }: PartName): string {
    return join(this.#options.folder, [org, sandbox, file].join(BETWEEN));
  }

  #wake(): void {
    if (this.#closing.signal.aborted || this.#parts.length === 0) return;
    this.#running ??= this.#run().finally(() => {
      this.#running = null;
      this.#wake();
    });
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing;
    for (let part = this.#parts[0]; part && !signal.aborted; part = this.#parts[0]) {
      if (await this.#bring(part)) {
        this.#parts.shift();
        continue;
      }
      const restMs = backoffMs(this.#failures, RETRIES);
      await pause(restMs, null, { ref: false, signal }).catch(() => null);
    }
  }

  /** Whether it is done with: stored, or refused for good. */
  async #bring({ bytes: _bytes, ...part }: Waiting): Promise<boolean> {
    const { objects, log } = this.#options;
    const path = this.#pathOf(part);
    try {
      await objects.upload({ purpose: "recording", ...part }, path);
    } catch (error) {
      const reason = messageOf(error);
      if (error instanceof ObjectStoreError && error.isPassing) {
        this.#failures += 1;
        if (this.#failures === 1) log.warn({ reason }, "recording_not_stored_yet");
        return false;
      }
      log.error({ reason }, "recording_part_given_up");
    }
    this.#failures = 0;
    await rm(path, { force: true });
    return true;
  }
}
