import { Identity } from "@svc/contract/control-channel/identity.ts";
import { closeSync, constants, openSync, writeSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { replace } from "./machine.ts";

const PLACE = "run/svc/identity.json";
/** One page of the kernel's memory: a write of it is whole or has not been. */
const PAGE_BYTES = 4096;
/** A FIFO of that name holds no thread. */
const READ = { encoding: "utf8", flag: constants.O_RDONLY | constants.O_NONBLOCK } as const;

/**
 * Keeps the identity for an agent that is started again in the same life: it answers on without the host's help. Below
 * /run, which is memory: after a boot of the kernel there is none.
 */
export class IdentityMemory {
  readonly #file: string;
  /** Held open, for a small one is written over the one before; null where that is larger or not there. */
  #page: number | null = null;

  constructor(root: string) {
    this.#file = join(root, PLACE);
  }

  keep(identity: Identity): void {
    const text = JSON.stringify(identity);
    if (Buffer.byteLength(text) > PAGE_BYTES) this.#replace(text);
    else this.#overwrite(Buffer.alloc(PAGE_BYTES, text.padEnd(PAGE_BYTES)));
  }

  /** Null where none was kept, or not whole. */
  async recall(): Promise<Identity | null> {
    const text = await readFile(this.#file, READ).catch(() => "null");
    return Identity.safeParse(parse(text)).data ?? null;
  }

  #overwrite(page: Buffer): void {
    if (this.#page === null) {
      replace(this.#file, page, 0o600);
      this.#page = openSync(this.#file, "r+");
    } else writeSync(this.#page, page, 0, PAGE_BYTES, 0);
  }

  #replace(text: string): void {
    if (this.#page !== null) closeSync(this.#page);
    this.#page = null;
    replace(this.#file, text, 0o600);
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
