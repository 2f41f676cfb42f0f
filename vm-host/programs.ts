import { spawn } from "node:child_process";

const LAST_WORDS_BYTES = 2_000;

export interface RunOptions {
  cwd?: string;
  /** Beside, or in place of, what every program is given. */
  env?: Record<string, string>;
  input?: string;
  /** Every line of both streams as it comes. */
  onLine?: (line: string) => void;
  signal?: AbortSignal;
  timeoutMs?: number;
  /** A program that prints more is ended. */
  outputBytes?: number;
}

/** Runs a program to its end and returns what it printed; throws with its last words when it fails. */
export async function run(
  file: string,
  args: string[],
  { cwd, env = {}, input, onLine, signal, timeoutMs, outputBytes = Infinity }: RunOptions = {},
): Promise<string> {
  const child = spawn(file, args, {
    cwd,
    stdio: [input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
    // Nothing of this process's own: it holds the host token.
    env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C", HOME: "/nonexistent", ...env },
    killSignal: "SIGKILL",
    ...(signal && { signal }),
    ...(timeoutMs !== undefined && { timeout: timeoutMs }),
  });
  // A program that ends before it has read its input fails by its exit code.
  child.stdin?.on("error", () => {});
  child.stdin?.end(input);
  let output = "";
  let words = "";
  const hear = (chunk: unknown): void => {
    words = (words + String(chunk)).slice(-LAST_WORDS_BYTES);
  };
  child.stdout?.on("data", (chunk) => {
    output += String(chunk);
    if (output.length > outputBytes) child.kill("SIGKILL");
  });
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", hear);
    if (stream && onLine) eachLine(stream, onLine);
  }
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", resolve);
  });
  if (code !== 0) throw new Error(`${file} ended with ${code}: ${words.trim()}`);
  return output;
}

function eachLine(stream: NodeJS.ReadableStream, onLine: (line: string) => void): void {
  let rest = "";
  stream.on("data", (chunk) => {
    const lines = (rest + String(chunk)).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) onLine(line);
  });
}
