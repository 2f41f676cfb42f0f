import { refuse } from "@svc/contract/control-channel/refusals.ts";
import type { ShareSpec } from "@svc/contract/control-channel/share-methods.ts";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { promisify } from "node:util";
import { BUILD, CLEAR, CLEAR_ALL, PREPARE, RUN } from "./place.ts";
import { Share } from "./share.ts";

const run = promisify(execFile);
/** Addresses of the machine's network that are nobody's; QEMU's own are below. */
const FIRST_ADDRESS = 16;
const LAST_ADDRESS = 250;

/** The shares of this machine. */
export class Shares {
  readonly #shares = new Map<string, Share>();
  readonly #ending = new Map<string, Promise<void>>();
  readonly #addresses = new Set<number>();
  #prepared: Promise<void> | null = null;

  /** What an agent before this one had is ended at once: nobody reaches it any more. */
  constructor() {
    if (!existsSync(RUN)) return;
    this.#prepared = prepare();
    this.#prepared.catch((error: unknown) => console.error("shares were left:", wordsOf(error)));
  }

  /** Makes a share and starts its agent. */
  async make(spec: ShareSpec): Promise<void> {
    if (this.#shares.has(spec.id)) return;
    await (this.#prepared ??= prepare());
    const address = this.#takeAddress();
    try {
      await script(BUILD, spec.id, String(address), String(spec.diskGb));
      const share = await Share.start(spec, address);
      this.#shares.set(spec.id, share);
      void share.gone.then((words) => {
        // On the machine's console, where its host looks when a share could not be made.
        if (words) console.error(`share ${spec.id}: ${words}`);
        return this.#clear(spec.id, address);
      });
    } catch (error) {
      await this.#clear(spec.id, address);
      throw refuse("NoSpace", `The share could not be made: ${wordsOf(error)}`);
    }
  }

  get(id: string): Share {
    const share = this.#shares.get(id);
    if (!share) throw refuse("NotFound", "There is no such share.");
    return share;
  }

  /** Ends all but these. */
  async keep(ids: string[]): Promise<void> {
    const others = [...this.#shares.keys()].filter((id) => !ids.includes(id));
    await Promise.all(others.map((id) => this.end(id)));
  }

  async end(id: string): Promise<void> {
    const share = this.#shares.get(id);
    if (share) {
      await share.kill();
      await share.gone;
    }
    await this.#ending.get(id);
  }

  #clear(id: string, address: number): Promise<void> {
    this.#shares.delete(id);
    const clearing = script(CLEAR, id)
      .catch(() => {})
      .finally(() => {
        this.#ending.delete(id);
        this.#addresses.delete(address);
      });
    this.#ending.set(id, clearing);
    return clearing;
  }

  #takeAddress(): number {
    for (let address = FIRST_ADDRESS; address <= LAST_ADDRESS; address += 1) {
      if (this.#addresses.has(address)) continue;
      this.#addresses.add(address);
      return address;
    }
    throw refuse("NoSpace", "This machine has no room for another share.");
  }
}

async function prepare(): Promise<void> {
  await script(PREPARE);
  await script(CLEAR_ALL);
}

async function script(text: string, ...args: string[]): Promise<void> {
  await run("sh", ["-c", text, "share", ...args]);
}

function wordsOf(error: unknown): string {
  const said = error instanceof Error && "stderr" in error ? String(error.stderr) : "";
  return (said || String(error)).slice(-300);
}
