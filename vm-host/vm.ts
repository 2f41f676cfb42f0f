import type { VmPlaced, VmReport } from "@svc/contract/host-protocol/vms.ts";
import type { VmMetrics } from "@svc/contract/vm/metrics.ts";
import type { Machine, Usage } from "./driver.ts";
import type { Guest } from "./guest/guest.ts";

/** A customer's open socket. */
export interface CustomerSocket {
  end(code: number, reason: string): void;
}

/** Samples closer together than this would tell noise. */
const SAMPLE_MS = 300;

interface Sample {
  at: number;
  usage: Usage;
}

/** A machine that belongs to a sandbox. */
export class Vm {
  readonly id: string;
  readonly machine: Machine;
  readonly guest: Guest;
  readonly placed: Omit<VmPlaced, "seq" | "bootId">;
  readonly sockets = new Set<CustomerSocket>();
  lastActivityAt = Date.now();
  ended: VmReport["ended"];
  #samples: Sample[] = [];
  #pct = 0;

  constructor(id: string, machine: Machine, guest: Guest, placed: Vm["placed"]) {
    this.id = id;
    this.machine = machine;
    this.guest = guest;
    this.placed = placed;
  }

  touch(): void {
    this.lastActivityAt = Date.now();
  }

  report(): VmReport {
    const { id, lastActivityAt, ended } = this;
    return { id, state: "running", lastActivityAt, ...(ended && { ended }) };
  }

  async metrics(): Promise<VmMetrics> {
    const [cpuPct, { memBytes, memTotalBytes, diskBytes }] = await Promise.all([
      this.#cpuPct(),
      this.guest.metrics(),
    ]);
    return { cpuPct, memBytes, memTotalBytes, diskBytes, contextScoped: false };
  }

  /** Closes the customers' sockets, then ends the machine. */
  async end(code: number, reason: string): Promise<void> {
    for (const socket of this.sockets) socket.end(code, reason);
    await this.machine.destroy();
  }

  /** How busy its processors were since the last look, or since a moment ago. */
  async #cpuPct(): Promise<number> {
    const before = this.#samples.at(-1) ?? (await this.#sample());
    if (!before) return 0;
    const waitMs = before.at + SAMPLE_MS - Date.now();
    if (waitMs > 0 && this.#samples.length > 1) return this.#pct;
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    const now = await this.#sample();
    if (!now) return 0;
    const share = (now.usage.cpuMs - before.usage.cpuMs) / (now.at - before.at);
    this.#pct = Math.round(Math.max(0, (100 * share) / this.placed.cpu) * 10) / 10;
    return this.#pct;
  }

  async #sample(): Promise<Sample | null> {
    const usage = await this.machine.usage();
    if (!usage) return null;
    const sample = { at: Date.now(), usage };
    this.#samples = [...this.#samples.slice(-1), sample];
    return sample;
  }
}
