import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { goFirst } from "./priority.ts";
import { backoffMs } from "@svc/host-kit/backoff.ts";
import { createLog } from "@svc/host-kit/log.ts";
import { Ready, Serving } from "@svc/host-kit/start-messages.ts";

export interface ChildSpec {
  name: string;
  /** The program, a .ts file that ends by itself when its IPC channel closes. */
  file: string;
  /** What Node is given before the program. */
  flags?: string[];
  /** Added to this process's environment. */
  env: Record<string, string | undefined>;
  /** The message with which its start is over. */
  startEnds: "ready" | "serving";
  /** How long it may take to end before it is killed. */
  graceMs: number;
  /** Everybody waits for it, and it works in short turns: it goes before what customers run. */
  goesFirst?: boolean;
}

const WAITS = { firstMs: 250, mostMs: 10_000 };
const STEADY_MS = 30_000;

const log = createLog("supervisor");

/** A program that is started again when it ends, until it is stopped. It leads a process group of its own. */
export class Child {
  readonly name: string;
  readonly #spec: ChildSpec;
  readonly #stop = new AbortController();
  readonly #first = Promise.withResolvers<Ready | Serving>();
  #process: ChildProcess | undefined;
  #lives: Promise<void> | undefined;
  #hasBeenReady = false;

  constructor(spec: ChildSpec) {
    this.name = spec.name;
    this.#spec = spec;
    this.#first.promise.catch(() => undefined);
  }

  /** Starts it and waits until its start is over; refuses when it ends before that or takes longer. */
  async start(limitMs: number): Promise<Ready | Serving> {
    this.#lives ??= this.#live();
    const late = () => this.#first.reject(new Error(`not ready after ${limitMs / 1000} s`));
    const timer = setTimeout(late, limitMs);
    return this.#first.promise.finally(() => clearTimeout(timer));
  }

  /** Ends it and its whole group, and waits until it is gone. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#process?.kill("SIGTERM");
    const timer = setTimeout(() => killGroup(this.#process), this.#spec.graceMs);
    await this.#lives;
    clearTimeout(timer);
  }

  async #live(): Promise<void> {
    let quickEnds = 0;
    while (!this.#stop.signal.aborted) {
      const bornAt = performance.now();
      const how = await this.#once();
      if (this.#stop.signal.aborted) return;
      this.#first.reject(new Error(`it ended at once (${how})`));
      quickEnds = performance.now() - bornAt > STEADY_MS ? 1 : quickEnds + 1;
      const waitMs = backoffMs(quickEnds, WAITS);
      log.error({ child: this.name, how, againInMs: waitMs }, "child_ended");
      await delay(waitMs, undefined, { signal: this.#stop.signal }).catch(() => undefined);
    }
  }

  async #once(): Promise<string> {
    // In a group of its own: Ctrl-C reaches the supervisor only, which keeps the order of the stops.
    const { flags = [], file } = this.#spec;
    const child = spawn(process.execPath, [...flags, file], {
      detached: true,
      stdio: ["ignore", "inherit", "inherit", "ipc"],
      env: { ...process.env, ...this.#spec.env },
    });
    this.#process = child;
    if (this.#spec.goesFirst) void goFirst(child);
    child.on("message", (message) => this.#heard(message));
    try {
      const [code, signal] = (await once(child, "exit")) as [number | null, string | null];
      return signal ?? `exit code ${code}`;
    } catch (error) {
      return String(error);
    } finally {
      killGroup(child);
      this.#process = undefined;
    }
  }

  #heard(message: unknown): void {
    const expected = this.#spec.startEnds === "ready" ? Ready : Serving;
    const ready = expected.safeParse(message);
    if (!ready.success) return;
    if (this.#hasBeenReady) log.info({ child: this.name }, "child_is_back");
    this.#hasBeenReady = true;
    this.#first.resolve(ready.data);
  }
}

// What a killed leader leaves in its group: workerd, browsers.
function killGroup(leader: ChildProcess | undefined): void {
  if (leader?.pid === undefined) return;
  try {
    process.kill(-leader.pid, "SIGKILL");
  } catch {
    // The group is empty.
  }
}
