import { Identity } from "@svc/contract/control-channel/identity.ts";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { replace } from "./machine.ts";

const PLACE = "run/svc/identity.json";

/**
 * Keeps the identity for an agent that is started again in the same life: it answers on without the host's help. Below
 * /run, which is memory: after a boot of the kernel there is none.
 */
export class IdentityMemory {
  readonly #file: string;

  constructor(root: string) {
    this.#file = join(root, PLACE);
  }

  keep(identity: Identity): void {
    replace(this.#file, JSON.stringify(identity), 0o600);
  }

  /** Null where none was kept, or not whole. */
  async recall(): Promise<Identity | null> {
    const text = await readFile(this.#file, "utf8").catch(() => "null");
    return Identity.safeParse(parse(text)).data ?? null;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
