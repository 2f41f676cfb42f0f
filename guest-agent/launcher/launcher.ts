import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { constants } from "node:os";
import { HELPER_SCRIPT } from "./script.ts";

/** What to start. All of it is resolved: nothing is looked up after this. */
export interface Start {
  file: string;
  argv: readonly string[];
  env: Readonly<Record<string, string>>;
  cwd: string;
  /** Folder of a cgroup to be in from the first instruction on. */
  cgroup: string | null;
  /** A pipe to write to, the other side of an open terminal, or nothing to read. */
  stdin: "pipe" | "none" | Terminal;
  /** One more pipe, which the process writes to as its open file 3. */
  wire?: boolean;
}

/** A terminal that this process holds open. */
export interface Terminal extends TerminalSize {
  fd: number;
}

export interface TerminalSize {
  cols: number;
  rows: number;
}

/** How a process ended. */
export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** A process that runs its program. The paths open its pipes until `release`. */
export interface Started {
  pid: number;
  stdin: string | null;
  stdout: string;
  stderr: string;
  wire: string | null;
  ended: Promise<Ended>;
  release(): void;
}

/** Why a program could not be started. */
export class StartError extends Error {
  readonly step: string;
  readonly errno: number;
  constructor(step: string, errno: number) {
    super(`${step} failed with error ${errno}`);
    this.step = step;
    this.errno = errno;
  }
}

interface Reply {
  words: string[];
  /** Of a process that was started. */
  ended: Promise<Ended> | null;
}

interface Order {
  resolve: (reply: Reply) => void;
  reject: (error: Error) => void;
}

/** So often the helper is asked whether it is there, while an order waits. One that says nothing three times hangs. */
const LOOK_MS = 15_000;
const SILENCES_MAX = 3;

/** A process whose end nobody saw: the helper has gone before it. */
const LOST: Ended = { code: null, signal: "SIGKILL" };

const hex = (text: string): string => Buffer.from(text).toString("hex") || "-";
// An empty item is told from no list at all by its comma: no list is a dash.
const hexes = (list: readonly string[]): string =>
  list.length === 0 ? "-" : list.map((text) => Buffer.from(text).toString("hex")).join(",");
// Of two names of one signal (SIGABRT, SIGIOT) the first is the usual one.
const SIGNAL_NAMES = new Map(
  Object.entries(constants.signals)
    .toReversed()
    .map(([name, number]) => [number, name as NodeJS.Signals]),
);

/** The resident helper: starts processes, tells how they end, and does what needs system calls. */
export class Launcher {
  readonly #child: ChildProcess;
  readonly #orders = new Map<number, Order>();
  readonly #ends = new Map<number, PromiseWithResolvers<Ended>>();
  #next = 1;
  #rest = "";
  #silences = 0;
  /** Runs while an order waits: an agent that has nothing to do sleeps. */
  #looks: NodeJS.Timeout | null = null;
  /** Resolves when the helper is gone, whatever the reason. */
  readonly gone: Promise<void>;

  private constructor(command: readonly string[]) {
    const [file = "", ...args] = command;
    this.#child = spawn(file, args, { stdio: ["pipe", "pipe", "inherit"] });
    this.#child.stdin?.on("error", () => {});
    this.#child.stdout?.setEncoding("utf8");
    this.#child.stdout?.on("data", (text: string) => this.#read(text));
    this.gone = new Promise((resolve) => {
      this.#child.once("error", () => resolve());
      this.#child.once("close", () => resolve());
    });
    void this.gone.then(() => this.#lost());
  }

  /** Starts the helper; `command` is another one for tests. */
  static async start(command: readonly string[] = perl()): Promise<Launcher> {
    const launcher = new Launcher(command);
    const { stdout } = launcher.#child;
    if (!stdout) throw new Error("the helper has no output");
    await Promise.race([
      once(stdout, "data"),
      launcher.gone.then(() => Promise.reject(new Error("the helper did not start"))),
    ]);
    return launcher;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  async launch({
    file,
    argv,
    env,
    cwd,
    cgroup,
    stdin: input,
    wire: wants,
  }: Start): Promise<Started> {
    const pairs = Object.entries(env).map(([name, value]) => `${name}=${value}`);
    const { words, ended } = await this.#ask(
      "start",
      cgroup === null ? "-" : hex(cgroup),
      hex(cwd),
      inputWord(input),
      wants ? "1" : "0",
      hex(file),
      hexes(argv),
      hexes(pairs),
    );
    const [pid = 0, stdin = -1, stdout = -1, stderr = -1, wire = -1] = words.map(Number);
    const path = (fd: number): string => `/proc/${this.pid}/fd/${fd}`;
    return {
      pid,
      stdin: stdin < 0 ? null : path(stdin),
      stdout: path(stdout),
      stderr: path(stderr),
      wire: wire < 0 ? null : path(wire),
      ended: ended ?? Promise.resolve(LOST),
      release: () => this.#tell("release", String(pid)),
    };
  }

  /** Gives a terminal another size; what runs in it is told. */
  async resize({ fd, cols, rows }: Terminal): Promise<void> {
    await this.#ask("resize", ...[process.pid, fd, cols, rows].map(String));
  }

  /** Sets the clock of the machine. */
  async setClock(nowMs: number): Promise<void> {
    const seconds = Math.floor(nowMs / 1000);
    const nanos = Math.floor((nowMs - seconds * 1000) * 1e6);
    await this.#ask("clock", String(seconds), String(nanos));
  }

  /** Credits bytes to the kernel's random pool and reseeds it. */
  async addEntropy(bytes: string): Promise<void> {
    await this.#ask("entropy", bytes);
  }

  /** Resets every TCP connection that leaves the machine. */
  async dropConnections(): Promise<void> {
    await this.#ask("drop");
  }

  /** Ends the helper and what it has started. */
  async close(): Promise<void> {
    this.#child.stdin?.end();
    await this.gone;
  }

  #ask(order: string, ...words: string[]): Promise<Reply> {
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#orders.set(id, { resolve, reject });
      this.#looks ??= setInterval(() => this.#look(), LOOK_MS).unref();
      this.#tell(order, String(id), ...words);
    });
  }

  #tell(...words: string[]): void {
    this.#child.stdin?.write(`${words.join(" ")}\n`);
  }

  /** A stopped helper is continued; one that hangs is ended, and `gone` tells. */
  #look(): void {
    this.#silences += 1;
    if (this.#silences > SILENCES_MAX) this.#child.kill("SIGKILL");
    else if (this.#silences > 1) this.#child.kill("SIGCONT");
    this.#tell("look");
  }

  #stopLooking(): void {
    if (this.#looks) clearInterval(this.#looks);
    this.#looks = null;
    this.#silences = 0;
  }

  #read(text: string): void {
    this.#silences = 0;
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) this.#hear(line.split(" "));
  }

  #hear([word, first = "", ...rest]: string[]): void {
    if (word === "alive") {
      this.#tell("alive");
      return;
    }
    if (word === "exit") {
      this.#ends.get(Number(first))?.resolve(endedFrom(Number(rest[0])));
      this.#ends.delete(Number(first));
      return;
    }
    const order = this.#orders.get(Number(first));
    this.#orders.delete(Number(first));
    if (this.#orders.size === 0) this.#stopLooking();
    if (word === "failed") order?.reject(new StartError(rest[0] ?? "", Number(rest[1])));
    else order?.resolve({ words: rest, ended: word === "started" ? this.#endOf(rest[0]) : null });
  }

  // Listens at once: the line that tells its end may be the next one.
  #endOf(pid: string | undefined): Promise<Ended> {
    const end = Promise.withResolvers<Ended>();
    this.#ends.set(Number(pid), end);
    return end.promise;
  }

  #lost(): void {
    for (const { reject } of this.#orders.values()) reject(new Error("the helper is gone"));
    for (const end of this.#ends.values()) end.resolve(LOST);
    this.#orders.clear();
    this.#ends.clear();
    this.#stopLooking();
  }
}

function inputWord(input: Start["stdin"]): string {
  if (input === "pipe") return "1";
  return input === "none" ? "0" : [process.pid, input.fd, input.cols, input.rows].join(",");
}

function perl(): string[] {
  return ["perl", "-e", HELPER_SCRIPT, process.arch];
}

// A wait status: the low seven bits are the signal, the next byte the exit code.
function endedFrom(status: number): Ended {
  const signal = SIGNAL_NAMES.get(status & 0x7f) ?? null;
  return { code: signal ? null : status >> 8, signal };
}
