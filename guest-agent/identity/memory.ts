import { Identity } from "@svc/contract/control-channel/identity.ts";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import * as z from "zod";
import { replace } from "./machine.ts";

const PLACE = "run/svc/identity.json";
const Kept = z.object({ kernelBoot: z.string(), identity: Identity });

/** Keeps the identity for an agent that is started again in the same life: it answers on without the host's help. */
export class IdentityMemory {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  async keep(identity: Identity): Promise<void> {
    const kept = { kernelBoot: await kernelBoot(), identity };
    await replace(join(this.#root, PLACE), JSON.stringify(kept), 0o600);
  }

  /** Null after a boot of the kernel: that is another machine. */
  async recall(): Promise<Identity | null> {
    const text = await readFile(join(this.#root, PLACE), "utf8").catch(() => "null");
    const { data } = Kept.safeParse(parse(text));
    return data && data.kernelBoot === (await kernelBoot()) ? data.identity : null;
  }
}

async function kernelBoot(): Promise<string> {
  return (await readFile("/proc/sys/kernel/random/boot_id", "utf8")).trim();
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
