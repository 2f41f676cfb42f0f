import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";

/** How far the build of an image is. A file, because another process may be the one that builds. */
export const Progress = z.object({
  step: z.string(),
  percent: z.number().min(0).max(100),
  /** The builder's process. */
  pid: z.int(),
  /** Milliseconds since the epoch. */
  at: z.number(),
  /** Set once it has failed. */
  error: z.string().optional(),
});
export type Progress = z.infer<typeof Progress>;

const WRITE_MS = 500;
/** A builder that died stops writing. */
const STALE_MS = 60_000;

const fileOf = (folder: string, name: string): string => join(folder, `${name}.progress.json`);

/** Writes the progress of one build, not more than twice a second. */
export class ProgressFile {
  readonly #file: string;
  readonly #onChange: (progress: Progress) => void;
  #last = 0;
  #writing: Promise<void> = Promise.resolve();

  constructor(folder: string, name: string, onChange: (progress: Progress) => void) {
    this.#file = fileOf(folder, name);
    this.#onChange = onChange;
  }

  set(step: string, percent: number, error?: string): void {
    const now = Date.now();
    const at = Math.round(percent);
    const progress = { step, percent: at, pid: process.pid, at: now, ...(error && { error }) };
    this.#onChange(progress);
    if (now - this.#last < WRITE_MS && !error) return;
    this.#last = now;
    this.#writing = this.#writing.then(() => this.#write(progress));
  }

  /** Resolves when the last word is written. */
  flush(): Promise<void> {
    return this.#writing;
  }

  async #write(progress: Progress): Promise<void> {
    await writeFile(`${this.#file}.new`, JSON.stringify(progress));
    await rename(`${this.#file}.new`, this.#file);
  }
}

/** The progress of a build that is under way or has failed; null when there is none. */
export async function readProgress(
  folder: string,
  name: string,
  now: number,
): Promise<Progress | null> {
  try {
    const progress = Progress.parse(JSON.parse(await readFile(fileOf(folder, name), "utf8")));
    return progress.error !== undefined || now - progress.at < STALE_MS ? progress : null;
  } catch {
    return null;
  }
}
