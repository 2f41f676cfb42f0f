import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { text } from "node:stream/consumers";

const MAIN = resolve("cli/main.ts");

/** The end of a program and its output. */
export interface Ran {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** How `svc` is run. */
export interface How {
  env?: NodeJS.ProcessEnv;
  /** The input of the command; empty unless given. */
  input?: string | Uint8Array;
  cwd?: string;
}

/** The command `svc` as a program of its own, with nobody's settings but those that are given. */
export class Svc {
  readonly #env: NodeJS.ProcessEnv;
  /** The folder of settings, where `svc login` keeps its file. */
  readonly config = mkdtempSync(join(tmpdir(), "svc-cli-"));

  constructor(env: NodeJS.ProcessEnv = {}) {
    this.#env = env;
  }

  /** Starts the command. */
  start(args: readonly string[], { env, cwd }: How = {}): ChildProcess {
    return spawn(process.execPath, [MAIN, ...args], {
      cwd: cwd ?? this.config,
      env: this.env(env),
    });
  }

  /** Runs the command to its end. */
  async run(args: readonly string[], how: How = {}): Promise<Ran> {
    const child = this.start(args, how);
    if (!child.stdout || !child.stderr) throw new Error("it has no output");
    const said = Promise.all([text(child.stdout), text(child.stderr)]);
    child.stdin?.on("error", () => {});
    child.stdin?.end(how.input);
    const [code] = (await once(child, "close")) as [number | null];
    const [stdout, stderr] = await said;
    return { code, stdout, stderr };
  }

  /** Runs the command with `--json`, expects success, and reads the answer. */
  async json(args: readonly string[], how: How = {}): Promise<unknown> {
    const { code, stdout, stderr } = await this.run(["--json", ...args], how);
    if (code !== 0) throw new Error(`svc ${args.join(" ")} ended with ${code}: ${stderr}`);
    return JSON.parse(stdout);
  }

  /** The environment of the command. */
  env(more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
    const { PATH, HOME, TMPDIR } = process.env;
    return { PATH, HOME, TMPDIR, XDG_CONFIG_HOME: this.config, ...this.#env, ...more };
  }
}
