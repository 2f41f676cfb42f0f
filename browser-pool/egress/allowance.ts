import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import type { AllowedTarget } from "@svc/host-kit/egress/allowance.ts";

const REFRESH_MS = 60_000;

/** The addresses and ports of SVC_EGRESS_ALLOW. Names among them are looked up again from time to time. */
export class Allowance {
  readonly #targets: AllowedTarget[];
  #pairs = new Set<string>();
  #timer: NodeJS.Timeout | null = null;

  private constructor(targets: AllowedTarget[]) {
    this.#targets = targets;
  }

  static async of(targets: AllowedTarget[]): Promise<Allowance> {
    const allowance = new Allowance(targets);
    await allowance.#refresh();
    const hasNames = targets.some((target) => isIP(target.host) === 0);
    if (hasNames)
      allowance.#timer = setInterval(() => void allowance.#refresh(), REFRESH_MS).unref();
    return allowance;
  }

  /** Whether exactly this address and port are let through. */
  has(address: string, port: number): boolean {
    return this.#pairs.has(`${address} ${port}`);
  }

  close(): void {
    if (this.#timer) clearInterval(this.#timer);
  }

  async #refresh(): Promise<void> {
    const pairs = await Promise.all(this.#targets.map(pairsOf));
    this.#pairs = new Set(pairs.flat());
  }
}

async function pairsOf({ host, port }: AllowedTarget): Promise<string[]> {
  const found = await lookup(host, { all: true }).catch(() => []);
  return found.map(({ address }) => `${address} ${port}`);
}
