import { lookup } from "node:dns/promises";
import { isIP } from "node:net";

const REFRESH_MS = 60_000;

/** A pair of SVC_EGRESS_ALLOW. The host may be a name: it counts as the addresses it has at that moment. */
export interface AllowedTarget {
  host: string;
  port: number;
}

/** `host:port, [::1]:8080` as a list. Throws on an entry that is no exact pair. */
export function readAllowance(text: string): AllowedTarget[] {
  const entries = text.split(/[\s,]+/).filter((entry) => entry.length > 0);
  return entries.map((entry) => {
    const [, host, port] = /^(\[[^\]]+\]|[^:]+):(\d{1,5})$/.exec(entry) ?? [];
    if (!host || !port) throw new Error(`SVC_EGRESS_ALLOW: ${entry} is not host:port`);
    return { host: host.replace(/^\[|\]$/g, "").toLowerCase(), port: Number(port) };
  });
}

/** The pair as it is shown in the banner and the registration. */
export function allowanceText({ host, port }: AllowedTarget): string {
  return isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`;
}

/** The pairs with the addresses that their names have, looked up again from time to time. */
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
