import { setTimeout as pause } from "node:timers/promises";
import * as z from "zod";
import type { Extent } from "../driver.ts";
import { run } from "../programs.ts";
import type { Qmp } from "./qmp.ts";
import { nodeName } from "./volume-device.ts";

/** What is told of at once: less would be read in one piece all the same. */
const GRAIN_BYTES = 1024 * 1024;
const READ_MS = 20_000;
const GONE_MS = 5_000;
const LOOK_MS = 5;

/** More than all that there can be to say of a volume whose every second block was written. */
const ANSWER_BYTES = 16 * 1024 * 1024;

const bytes = z.int().nonnegative();
const Extents = z.array(z.object({ start: bytes, length: bytes, data: z.boolean() }));

/** Has a command run as the machine's user: what a machine answers is read by nobody who can more than itself. */
export type Confine = (command: string[]) => string[];

/**
 * What a machine writes into its volumes, by QEMU's dirty bitmaps: at each question the next bitmap begins before the last
 * one ends, so that every write is in at least one of them.
 */
export class WriteLog {
  readonly #monitor: Pick<Qmp, "execute">;
  /** Where QEMU shows a bitmap that has ended. */
  readonly #socket: string;
  readonly #confine: Confine;
  /** So long a bitmap may be in use that nobody is shown any more. */
  readonly #goneMs: number;
  /** The bitmap that records, by slot; none while it is not known what was written. */
  readonly #names = new Map<number, string>();
  #serving: Promise<unknown> | null = null;
  #count = 0;

  constructor(
    monitor: Pick<Qmp, "execute">,
    socket: string,
    confine: Confine,
    goneMs: number = GONE_MS,
  ) {
    this.#monitor = monitor;
    this.#socket = socket;
    this.#confine = confine;
    this.#goneMs = goneMs;
  }

  /** As `Machine.written` says. */
  async take(slot: number): Promise<Extent[] | null> {
    const node = nodeName(slot);
    const before = this.#names.get(slot);
    this.#names.delete(slot);
    this.#count += 1;
    const now = `writes${this.#count}`;
    const bitmap = { node, name: now, granularity: GRAIN_BYTES };
    try {
      await this.#monitor.execute("block-dirty-bitmap-add", bitmap);
      const extents = before === undefined ? null : await this.#end(node, before);
      this.#names.set(slot, now);
      return extents;
    } catch (error) {
      for (const name of [before, now]) if (name !== undefined) void this.#remove(node, name);
      throw error;
    }
  }

  /** The slot holds another volume, or none. */
  forget(slot: number): void {
    this.#names.delete(slot);
  }

  /** Ends a bitmap and reads it. A write is recorded when it is done: a write that is under way is in the next bitmap. */
  async #end(node: string, name: string): Promise<Extent[]> {
    await this.#monitor.execute("block-dirty-bitmap-disable", { node, name });
    await this.#serve();
    const shown = { type: "nbd", id: name, name, "node-name": node, bitmaps: [name] };
    await this.#monitor.execute("block-export-add", shown);
    try {
      return await this.#read(name);
    } finally {
      await this.#monitor.execute("block-export-del", { id: name, mode: "hard" });
      await this.#removeFree(node, name);
    }
  }

  #serve(): Promise<unknown> {
    const addr = { type: "unix", data: { path: this.#socket } };
    this.#serving ??= this.#monitor.execute("nbd-server-start", { addr });
    this.#serving.catch(() => (this.#serving = null));
    return this.#serving;
  }

  /** It is in use for a moment after nobody is shown it any more. */
  async #removeFree(node: string, name: string): Promise<void> {
    const until = Date.now() + this.#goneMs;
    while (!(await this.#remove(node, name))) {
      if (Date.now() > until) throw new Error("a bitmap is in use for too long");
      await pause(LOOK_MS);
    }
  }

  #remove(node: string, name: string): Promise<boolean> {
    return this.#monitor.execute("block-dirty-bitmap-remove", { node, name }).then(
      () => true,
      () => false,
    );
  }

  async #read(name: string): Promise<Extent[]> {
    const place = { driver: "nbd", server: { type: "unix", path: this.#socket }, export: name };
    const shown = JSON.stringify({ ...place, "x-dirty-bitmap": `qemu:dirty-bitmap:${name}` });
    const command = ["qemu-img", "map", "--output=json", `json:${shown}`];
    const [file = "", ...args] = this.#confine(command);
    const bounds = { timeoutMs: READ_MS, outputBytes: ANSWER_BYTES };
    const extents = Extents.parse(JSON.parse(await run(file, args, bounds)));
    // Whatever is marked in the bitmap comes as a hole.
    return extents.filter(({ data }) => !data).map(({ start, length }) => ({ start, length }));
  }
}
