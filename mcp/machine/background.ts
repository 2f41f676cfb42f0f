import type { Process } from "@svc/sdk/channel/process.ts";
import { ControlError, TimeoutError } from "@svc/sdk/errors.ts";
import { linked, within } from "@svc/sdk/http/deadline.ts";
import { ToolError } from "../tool.ts";
import type { Machine } from "./connection.ts";
import { kill, startProgram } from "./run-command.ts";

/** The folder of background commands' output. */
export const BACKGROUND_FOLDER = "/tmp/svc-bg";

/** Bytes at the end of each file that an answer has. */
const TOLD_BYTES = 4_000;
/** Longest time until a shell has begun, on a busy machine. */
const BEGUN_MS = 20_000;
/** How often a port is looked for. */
const LOOKS_A_SECOND = 5;

/**
 * The shell that starts a command ($1) as a process of its own, and writes how it ended: nobody has to listen. It says each
 * thing on a line: `taken` where port $2 listens already, `pid`, `listens` once it does, `exit`. It looks $3 times.
 */
const SCRIPT = `mkdir -p ${BACKGROUND_FOLDER} || exit
listens() { grep -qs "$(printf ':%04X 0*:0000 0A' "$1")" /proc/net/tcp /proc/net/tcp6; }
[ -n "$2" ] && listens "$2" && echo taken && set -- "$1" ''
/bin/sh -c 'base=${BACKGROUND_FOLDER}/$$; exec >"$base.out" 2>"$base.err" </dev/null; exec /bin/sh -lc "$1"' sh "$1" &
pid=$!
echo "pid $pid"
[ -n "$2" ] && (
  left=$3
  until listens "$2" && echo listens; do
    left=$((left - 1))
    [ $left -gt 0 ] || break
    sleep ${1 / LOOKS_A_SECOND}
  done
) &
wait $pid
code=$?
echo $code >${BACKGROUND_FOLDER}/$pid.exit
echo "exit $code"`;

/** A command that goes on by itself. */
export interface BackgroundWish {
  command: string;
  cwd?: string | undefined;
  waitForPort?: number | undefined;
  waitMs: number;
}

/** Starts a command in the background. Tells how it is when it has ended, when its port listens, or after a while. */
export async function startInBackground(
  machine: Machine,
  wish: BackgroundWish,
  signal: AbortSignal,
): Promise<Record<string, unknown>> {
  const { cwd, waitForPort, waitMs } = wish;
  const shell = await startProgram(machine, { argv: argvOf(wish), cwd }, signal);
  const words = new Words(shell, signal);
  try {
    await words.until(/^pid /m, BEGUN_MS);
    const pid = words.number("pid");
    if (pid === null) throw new ToolError("NotStarted", words.complaint());
    await words.until(waitForPort === undefined ? /^exit /m : /^(exit |listens)/m, waitMs);
    const base = `${BACKGROUND_FOLDER}/${pid}`;
    return {
      pid,
      ...stateOf(words, waitForPort),
      stdoutPath: `${base}.out`,
      stderrPath: `${base}.err`,
      exitPath: `${base}.exit`,
      output: await outputOf(machine, base, signal),
    };
  } catch (error) {
    // Nobody knows the command's pid.
    await kill(shell);
    throw error;
  } finally {
    words.leave();
  }
}

function argvOf({ command, waitForPort, waitMs }: BackgroundWish): [string, ...string[]] {
  const looks = Math.ceil((waitMs / 1000) * LOOKS_A_SECOND);
  return ["/bin/sh", "-c", SCRIPT, "sh", command, `${waitForPort ?? ""}`, `${looks}`];
}

function stateOf(words: Words, port: number | undefined): Record<string, unknown> {
  const exitCode = words.number("exit");
  return {
    running: exitCode === null,
    ...(exitCode !== null && { exitCode }),
    ...(port !== undefined && { listening: words.has("listens") }),
    ...(words.has("taken") && { note: `Port ${port} was in use before.` }),
  };
}

/** The lines that the shell prints. */
class Words {
  readonly #signal: AbortSignal;
  readonly #abort: AbortController;
  readonly #ended: Promise<unknown>;
  readonly #decoder = new TextDecoder();
  #said = "";
  #complaint = "";
  #look: () => void = () => {};

  constructor(shell: Process, signal: AbortSignal) {
    this.#signal = signal;
    this.#abort = linked(signal);
    const onBytes = (channel: 1 | 2, bytes: Uint8Array): void => {
      const text = this.#decoder.decode(bytes);
      if (channel === 1) this.#said += text;
      else this.#complaint = `${this.#complaint}${text}`.slice(0, TOLD_BYTES);
      this.#look();
    };
    this.#ended = shell.attach({ signal: this.#abort.signal, onBytes }).ended;
    this.#ended.catch(() => {});
  }

  /** Waits until the shell prints a thing, or ends, or the time is over. */
  async until(what: RegExp, timeoutMs: number): Promise<void> {
    const said = new Promise<void>((resolve) => {
      this.#look = () => void (what.test(this.#said) && resolve());
      this.#look();
    });
    await within({ signal: this.#signal, timeoutMs }, () =>
      Promise.race([said, this.#ended]),
    ).catch((error: unknown) => {
      if (!(error instanceof TimeoutError)) throw error;
    });
  }

  has(word: string): boolean {
    return this.#said.split("\n").includes(word);
  }

  number(word: string): number | null {
    const [, value] = new RegExp(`^${word} (\\d+)$`, "m").exec(this.#said) ?? [];
    return value === undefined ? null : Number(value);
  }

  complaint(): string {
    return (
      this.#complaint.trim() || "The command did not begin: the machine is too busy. Try again."
    );
  }

  /** The shell goes on. */
  leave(): void {
    this.#abort.abort();
  }
}

/** The end of what a command has printed so far. */
async function outputOf(machine: Machine, base: string, signal: AbortSignal): Promise<string> {
  const texts = await Promise.all(
    [`${base}.out`, `${base}.err`].map((path) => endOf(machine, path, signal)),
  );
  return texts.filter((text) => text !== "").join("\n");
}

async function endOf(machine: Machine, path: string, signal: AbortSignal): Promise<string> {
  const read = (offset: number) =>
    machine.files.readPart(path, { offset, length: TOLD_BYTES, signal });
  try {
    const first = await read(0);
    const isAll = first.size <= TOLD_BYTES;
    const { data } = isAll ? first : await read(first.size - TOLD_BYTES);
    return (isAll ? "" : "… ") + new TextDecoder().decode(data);
  } catch (error) {
    // Not begun, or removed by the command itself.
    if (error instanceof ControlError && error.code === "NotFound") return "";
    throw error;
  }
}
