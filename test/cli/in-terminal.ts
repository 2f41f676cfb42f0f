import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import type { Writable } from "node:stream";
import { vi } from "vitest";
import type { Svc } from "./svc.ts";

/** Far beyond any wait that succeeds: it ends only a test that fails. */
const SOON_MS = 100_000;

/** `svc` in a real terminal: its output, keys, and another size. */
export class InTerminal {
  readonly #child: ChildProcess;
  /** The output so far, escapes included. */
  text = "";

  constructor(
    svc: Svc,
    args: readonly string[],
    [cols, rows]: readonly [number, number] = [80, 24],
  ) {
    const size = [String(cols), String(rows)];
    const program = [process.execPath, resolve("cli/main.ts"), ...args];
    this.#child = spawn("python3", [resolve("test/cli/terminal.py"), ...size, ...program], {
      cwd: svc.config,
      env: svc.env({ TERM: "xterm-256color" }),
      stdio: ["pipe", "pipe", "inherit", "pipe"],
    });
    this.#child.stdout?.setEncoding("utf8");
    this.#child.stdout?.on("data", (part: string) => (this.text += part));
  }

  /** Types. */
  type(keys: string): void {
    this.#child.stdin?.write(keys);
  }

  resize(cols: number, rows: number): void {
    (this.#child.stdio[3] as Writable).write(`${cols} ${rows}\n`);
  }

  /** Waits until the output matches. */
  async shows(pattern: RegExp): Promise<void> {
    await vi.waitUntil(() => pattern.test(this.text), { timeout: SOON_MS, interval: 50 });
  }

  /** Waits for the program's end. */
  async ended(): Promise<number | null> {
    if (this.#child.exitCode === null) await once(this.#child, "close");
    return this.#child.exitCode;
  }
}
