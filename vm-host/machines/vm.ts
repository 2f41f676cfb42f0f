import type { Duplex } from "node:stream";
import { LIMITS } from "@svc/contract/limits.ts";
import type { VmPlaced, VmReport } from "@svc/contract/host-protocol/vms.ts";
import type { VmMetrics } from "@svc/contract/vm/metrics.ts";
import type { Machine, Usage } from "../driver.ts";
import type { Guest } from "../guest/guest.ts";
import { type Ending, EndingNews } from "./ending.ts";
import type { Point } from "../screen/path.ts";
import { pointerOf } from "./pointer.ts";
import { SCREEN_PORT, Screen } from "../screen/screen.ts";
import { Places } from "./places.ts";
import { MachineUse } from "./use.ts";

/** A customer's open socket. */
export interface CustomerSocket {
  /** Bytes that the client has not read yet. */
  readonly waitingBytes: number;
  /** Ends the socket with no word: its client does not read. */
  cut(): void;
  end(code: number, reason: string): void;
  /** The machine was parked: nothing in it answers until its next use. */
  parked(): void;
  /** Says what becomes of the machine, right before the end. */
  tell(state: "paused" | "running" | "gone", reason: string): void;
}

/** An open WebSocket of a preview. */
export interface PreviewSocket {
  /** Ends the socket with a close frame of the host's own. */
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
  /** Of a desktop. */
  readonly screen: Screen | null;
  readonly use = new MachineUse(() => this.#onUse());
  /** Requests and sockets of previews. */
  readonly previews = new Places(LIMITS.machinePreviews);
  /** Pictures of a desktop that are on their way. */
  readonly pictures = new Places(LIMITS.machinePictures);
  /** Viewers of a desktop; their sockets end as those of previews do. */
  readonly viewers = new Places(LIMITS.machineViewers);
  readonly previewSockets = new Set<PreviewSocket>();
  /** Whose it is, as its calls say. */
  org: string | null = null;
  /** What is said of it once it is over. */
  ended: VmReport["ended"];
  /** The machine has ended, by itself or because another machine took its place. */
  isOver = false;
  /** The processors of the machine stand still until the next request. */
  isParked = false;
  /** How much is under way that saves it: a request wakes it only after. */
  #holds = 0;
  /** Settles when the saving that is under way is over. */
  #saving: Promise<unknown> = Promise.resolve();
  readonly #news = new EndingNews();
  #metrics: VmMetrics | null = null;
  #samples: Sample[] = [];
  #pct = 0;

  constructor(id: string, machine: Machine, guest: Guest, placed: Vm["placed"]) {
    this.id = id;
    this.machine = machine;
    this.guest = guest;
    this.placed = placed;
    const dial = (): Promise<Duplex> => guest.dial(SCREEN_PORT);
    const where = (): Promise<Point> => pointerOf(guest);
    this.screen = guest.self.kind === "desktop" ? new Screen(dial, where) : null;
  }

  /** Notes a request. A parked machine goes on before the request is answered. */
  touch(): void {
    this.use.note();
  }

  /** Notes work in flight: the machine is in use until the returned function is called. */
  begin(): () => void {
    return this.use.begin();
  }

  #onUse(): void {
    if (this.isParked && this.#holds === 0) void this.#wake().catch(() => null);
  }

  /** Stops its processors. Nothing else changes: ports, memory and network stay. False when it was used meanwhile. */
  async park(): Promise<boolean> {
    if (this.isParked) return true;
    const { count } = this.use;
    await this.metrics().catch(() => null);
    await this.machine.stop();
    this.isParked = true;
    // A request came while it was being stopped.
    if (this.use.count !== count) {
      await this.#wake();
      return false;
    }
    for (const socket of this.sockets) socket.parked();
    return true;
  }

  /** Runs what saves the machine: its processors must not go on in the middle of it, whoever asks for the machine. */
  held<T>(work: () => Promise<T>): Promise<T> {
    const saving = this.#hold(work);
    this.#saving = Promise.allSettled([this.#saving, saving]);
    return saving;
  }

  /** What has ended the machine, for a call to it that has broken off; null while the machine runs on. */
  async ending(): Promise<Ending | null> {
    await this.#saving;
    return this.#news.heard(this.guest.isGone);
  }

  async #hold<T>(work: () => Promise<T>): Promise<T> {
    const { count } = this.use;
    this.#holds += 1;
    try {
      return await work();
    } finally {
      this.#holds -= 1;
      if (this.use.count !== count) this.#onUse();
    }
  }

  async #wake(): Promise<void> {
    this.isParked = false;
    // Waits in the port, before the request: the guest's clock stood still, too.
    const told = this.guest.setClock();
    told.catch(() => null);
    await this.machine.cont();
    await told;
  }

  report(): VmReport {
    const { id, use, ended, isParked } = this;
    const parked = isParked && ({ parked: true } as const);
    return { id, state: "running", lastActivityAt: use.lastAt, ...parked, ...(ended && { ended }) };
  }

  async metrics(): Promise<VmMetrics> {
    if (this.isParked && this.#metrics) return { ...this.#metrics, cpuPct: 0 };
    const [cpuPct, { memBytes, memTotalBytes, diskBytes }] = await Promise.all([
      this.#cpuPct(),
      this.guest.metrics(),
    ]);
    this.#metrics = {
      cpuPct,
      memBytes,
      memTotalBytes,
      diskBytes,
      contextScoped: this.placed.isolation === "shared",
    };
    return this.#metrics;
  }

  /** Closes the customers' sockets, then ends the machine. */
  async end(code: number, reason: string): Promise<void> {
    this.endSockets("gone", code, reason);
    await this.machine.destroy();
  }

  endSockets(state: Ending["state"], code: number, reason: string): void {
    this.#news.tell({ state, code, reason });
    for (const socket of this.sockets) {
      socket.tell(state, reason);
      socket.end(code, reason);
    }
    for (const socket of this.previewSockets) socket.end(code, reason);
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
