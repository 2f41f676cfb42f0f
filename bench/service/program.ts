import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Ready } from "@svc/host-kit/start-messages.ts";
import { atEnd, tempFolder } from "./endings.ts";

const READY_MS = 90_000;
const GRACE_MS = 15_000;
const WORDS_SHOWN = 2_000;

export type Environment = Record<string, string | undefined>;

/** A program in a process group of its own. Its output goes to a file: reading it would cost the bench's own time. */
export class Program {
  readonly child: ChildProcess;
  readonly #outputFile: string;

  /** `args`: what Node is given. It ends with this process, by its channel or its stdin. */
  constructor(args: string[], env: Environment = {}) {
    this.#outputFile = join(tempFolder(), "output");
    const output = openSync(this.#outputFile, "a");
    this.child = spawn(process.execPath, args, {
      detached: true,
      stdio: ["pipe", output, output, "ipc"],
      env: { ...process.env, ...env },
    });
    closeSync(output);
    atEnd(() => this.stop());
  }

  get pid(): number {
    const { pid } = this.child;
    if (pid === undefined) throw new Error("the program did not start");
    return pid;
  }

  get isOver(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  /** All it has said so far. */
  get output(): string {
    return readFileSync(this.#outputFile, "utf8");
  }

  /** The URL of its first ready message. */
  ready(): Promise<string> {
    let url: string | null = null;
    this.child.on("message", (message) => (url ??= Ready.safeParse(message).data?.url ?? null));
    return this.#until(() => url);
  }

  /** What a line of its output holds, once it is there. */
  says(line: RegExp): Promise<string> {
    return this.#until(() => line.exec(this.output)?.[1] ?? null);
  }

  async stop(): Promise<void> {
    if (this.isOver) return;
    const ended = once(this.child, "exit");
    this.child.kill("SIGTERM");
    const late = setTimeout(() => this.#killGroup(), GRACE_MS);
    await ended;
    clearTimeout(late);
    // What it left in its group, where nothing ties it to its parent.
    this.#killGroup();
  }

  #killGroup(): void {
    try {
      process.kill(-this.pid, "SIGKILL");
    } catch {
      // The group is empty.
    }
  }

  async #until(look: () => string | null): Promise<string> {
    const deadline = performance.now() + READY_MS;
    while (performance.now() < deadline && !this.isOver) {
      const seen = look();
      if (seen !== null) return seen;
      await pause(20);
    }
    const name = this.child.spawnargs.join(" ");
    throw new Error(`${name} is not ready:\n${this.output.slice(-WORDS_SHOWN)}`);
  }
}
