import { setTimeout as pause } from "node:timers/promises";
import { CHANNELS } from "@svc/contract/control-channel/binary-frame.ts";
import { isRefused } from "@svc/contract/control-channel/refusals.ts";
import { TEMPLATE_LIMITS } from "@svc/contract/vm/template-limits.ts";
import type { BuildStep, TemplateStart } from "@svc/contract/vm/template-steps.ts";
import type { Guest } from "../guest/guest.ts";
import { as, type BuildCommand, commandsOf } from "./commands.ts";
import type { BuildLog } from "./log.ts";
import type { PlannedStep, Setting } from "./plan.ts";

const POLL_MS = 250;
/** Of one try whether a server is ready. */
const TRY_MS = 10_000;
const MODE = 0o644;

/** A step that did not end well, in words for the template's owner. */
export class StepError extends Error {
  readonly step: number;

  constructor(step: number, message: string) {
    super(message);
    this.step = step;
  }
}

/** Runs the steps of a build in its machine. */
export class StepRunner {
  readonly #guest: Guest;
  readonly #log: BuildLog;
  readonly #signal: AbortSignal;

  constructor(guest: Guest, log: BuildLog, signal: AbortSignal) {
    this.#guest = guest;
    this.#log = log;
    this.#signal = signal;
  }

  /** Throws a `StepError`. */
  async run({ number, step, before }: PlannedStep): Promise<void> {
    if (step.type === "write") return this.#write(number, step, before);
    for (const command of commandsOf(step, before)) {
      const exitCode = await this.#command(number, command);
      if (exitCode === 0) continue;
      const hint = exitCode === 127 && step.type === "npm" ? NO_NPM : "";
      throw new StepError(number, `${step.type}: it ended with code ${exitCode}.${hint}`);
    }
  }

  /** Starts the server of the template, and waits until it is ready. */
  async start(number: number, { cmd, ready }: TemplateStart, setting: Setting): Promise<void> {
    const { envs: env, cwd, user } = setting;
    const command = { ...as(user, ["bash", "-c", cmd]), ...(cwd !== undefined && { cwd }), env };
    const { id } = await this.#guest.files.ask("commands.start", { ...command, tag: "start" });
    const watching = new AbortController();
    const ended = this.#follow(number, id, watching.signal);
    try {
      if (ready) await this.#ready(number, ready, setting, ended);
      else await this.#settled(ended);
    } finally {
      watching.abort();
    }
  }

  /** One command to its end, its output in the log. */
  async #command(number: number, command: BuildCommand): Promise<number> {
    const out = this.#log.lines(number, "stdout");
    const err = this.#log.lines(number, "stderr");
    const params = { ...command, stream: true };
    const call = this.#guest.files.call("commands.run", params, {
      onBytes: (channel, bytes) => (channel === CHANNELS.stderr ? err : out).bytes(bytes),
      signal: this.#signal,
    });
    call.stream.end(CHANNELS.input);
    try {
      return (await call.result).exitCode;
    } finally {
      out.end();
      err.end();
    }
  }

  async #write(
    number: number,
    { path, content, encoding = "utf8", mode = MODE }: Extract<BuildStep, { type: "write" }>,
    { user }: Setting,
  ): Promise<void> {
    const signal = this.#signal;
    const call = this.#guest.files.call("files.write", { path, mode }, { signal });
    call.result.catch(() => null);
    await call.stream.write(CHANNELS.input, Buffer.from(content, encoding));
    call.stream.end(CHANNELS.input);
    try {
      await call.result;
    } catch (error) {
      if (isRefused(error, "Disconnected") || !(error instanceof Error)) throw error;
      throw new StepError(number, `write: ${error.message}`);
    }
    if (user === undefined) return;
    const args = [`${user}:`, "--", path];
    const exitCode = await this.#command(number, { cmd: "chown", args });
    if (exitCode !== 0)
      throw new StepError(number, `write: ${path} could not be given to ${user}.`);
  }

  /** Writes what a started process prints; resolves with a `StepError` when it ends. */
  async #follow(number: number, id: string, signal: AbortSignal): Promise<StepError> {
    const out = this.#log.lines(number, "stdout");
    const err = this.#log.lines(number, "stderr");
    const call = this.#guest.files.call(
      "commands.attach",
      { id },
      {
        onBytes: (channel, bytes) => (channel === CHANNELS.stderr ? err : out).bytes(bytes),
        signal,
      },
    );
    const code = await call.result.then(
      ({ exitCode }) => `with code ${exitCode}`,
      () => "with the machine",
    );
    out.end();
    err.end();
    return new StepError(number, `start: it ended ${code} before it was ready.`);
  }

  /** It says nothing of when it is ready: what ends at once is none. */
  async #settled(ended: Promise<StepError>): Promise<void> {
    const early = await Promise.race([ended, pause(POLL_MS * 4, null, { ref: false })]);
    if (early) throw early;
  }

  async #ready(
    number: number,
    ready: NonNullable<TemplateStart["ready"]>,
    setting: Setting,
    ended: Promise<StepError>,
  ): Promise<void> {
    const limitMs = ready.timeoutMs ?? TEMPLATE_LIMITS.readyMs;
    const until = performance.now() + limitMs;
    while (!(await this.#answers(ready, setting))) {
      this.#signal.throwIfAborted();
      if (performance.now() > until)
        throw new StepError(number, `start: it was not ready within ${limitMs} ms.`);
      const early = await Promise.race([ended, pause(POLL_MS, null, { ref: false })]);
      if (early) throw early;
    }
  }

  async #answers(
    { port, url, cmd }: NonNullable<TemplateStart["ready"]>,
    { user, cwd, envs }: Setting,
  ): Promise<boolean> {
    if (port !== undefined) return this.#listens(port);
    const argv = url
      ? ["curl", "--fail", "--silent", "--output", "/dev/null", "--max-time", "5", url]
      : ["bash", "-c", cmd ?? ""];
    const own = { env: envs, ...(cwd !== undefined && { cwd }), timeoutMs: TRY_MS };
    // As a stream: else what it prints is part of the answer, which has to be short.
    const params = { ...as(user, argv), ...own, stream: true };
    const call = this.#guest.files.call("commands.run", params, { signal: this.#signal });
    call.stream.end(CHANNELS.input);
    return (await call.result).exitCode === 0;
  }

  async #listens(port: number): Promise<boolean> {
    try {
      (await this.#guest.dial(port)).destroy();
      return true;
    } catch (error) {
      if (isRefused(error, "ConnectionRefused")) return false;
      throw error;
    }
  }
}

const NO_NPM = " There is no npm in this template: install it with an apt step.";
