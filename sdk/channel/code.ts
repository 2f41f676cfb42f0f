import {
  RunReader,
  type WholeAnswer,
  type WholeResult,
} from "@svc/contract/control-channel/run-reader.ts";
import { ConnectionError } from "../errors.ts";
import type { CallOptions } from "../http/deadline.ts";
import type { Params, Result } from "@svc/contract/control-channel/method-types.ts";
import type { Channel } from "./channel.ts";
import type { Connection } from "./connection.ts";
import { type Answer, asking, type Rest } from "./namespace.ts";
import { KeptOutput, keptTexts } from "./kept-output.ts";

/** A result that a run has shown, in each form it has: `text`, `html`, `png` (base64), `chart`, … */
export type CodeResult = WholeResult;

/** How code is run. `timeoutMs`: then it is interrupted and `timedOut` is set; no limit unless said. */
export interface CodeOptions extends CallOptions {
  /** `python` unless said. */
  language?: Params<"code.run">["language"] | undefined;
  /** The context whose variables it sees; the one of its language named `default` unless said. */
  context?: string | undefined;
  cwd?: string | undefined;
  env?: Readonly<Record<string, string>> | undefined;
  onStdout?: ((text: string) => void) | undefined;
  onStderr?: ((text: string) => void) | undefined;
  onResult?: ((result: CodeResult) => void) | undefined;
}

/** How a run ended, with all that it has shown. An exception of the code is `error`, it is not thrown. */
export interface CodeAnswer extends WholeAnswer {
  stdout: string;
  stderr: string;
  results: CodeResult[];
  /** The charts of all results, as numbers (docs/CODE.md, Charts). */
  charts: unknown[];
  /** Bytes of output that were lost while no connection was there: the machine keeps the last MiB. */
  lostBytes?: number;
}

/** A context: a process that keeps variables from run to run. */
export type CodeContext = Result<"code.create">;

class Runs {
  readonly #channel: Channel;

  constructor(channel: Channel) {
    this.#channel = channel;
  }

  /** Runs code to its end, also over lost connections: each byte and each result once. An abort interrupts it. */
  run(code: string, options: CodeOptions = {}): Promise<CodeAnswer> {
    const { language, context, cwd, env, signal, timeoutMs = Infinity } = options;
    const wanted = { code, stream: true, language, context, cwd, env };
    const begun = performance.now();
    const leftMs = (): number => Math.max(1, timeoutMs - (performance.now() - begun));
    const left = () => ({ timeoutMs: timeoutMs < Infinity ? leftMs() : undefined });
    const kept = new KeptRun(options);
    const { reader } = kept;
    return this.#channel.use({ signal, timeoutMs: Infinity }, async (limits) => {
      let asked = false;
      const attach = (connection: Connection) => {
        const { place } = reader;
        // A run that has no id yet may have begun, and code may do something twice.
        if (asked && !place)
          throw new ConnectionError("The connection was lost: the code may have run.");
        asked = true;
        const rpc = { onBytes: reader.bytes, signal: limits.signal };
        const again = { ...place, run: place?.run ?? "", stream: true, ...left() };
        const call = place
          ? this.#channel.begin(connection, "code.attach", again, rpc)
          : this.#channel.begin(connection, "code.run", { ...wanted, ...left() }, rpc);
        reader.begin(call.id);
        connection.hear(call, (method, params) => reader.heard(method, params));
        return call;
      };
      const answer = await this.#channel.follow(limits, attach, () => JSON.stringify(reader.place));
      return kept.whole(reader.answered(answer));
    });
  }
}

interface Asked {
  /** Makes a context and starts its kernel. */
  create(
    context: string,
    wanted?: Rest<"code.create", "context">,
    options?: CallOptions,
  ): Answer<"code.create">;
  /** Lists the contexts, with what runs in them. */
  contexts(options?: CallOptions): Answer<"code.contexts">;
  /** Stops the code that runs in a context, `default` unless said; its variables stay. */
  interrupt(context?: string, options?: CallOptions): Answer<"code.interrupt">;
  /** Ends the kernel of a context and begins a new one. */
  restart(context?: string, options?: CallOptions): Answer<"code.restart">;
  /** Ends the kernel of a context and forgets it. */
  remove(context: string, options?: CallOptions): Answer<"code.remove">;
}

/** Code in a machine (docs/CODE.md). */
export interface Code extends Runs, Asked {}

/** The code of one machine. */
export const codeOf = (channel: Channel): Code =>
  Object.assign(
    new Runs(channel),
    asking<Asked>(channel, "code", {
      create: "context *",
      contexts: "",
      interrupt: "context",
      restart: "context",
      remove: "context",
    }),
  );

/** The output and the results of a run so far. */
class KeptRun {
  readonly #kept: { 1: KeptOutput; 2: KeptOutput };
  readonly #results: CodeResult[] = [];
  declare readonly reader: RunReader;
  #lostBytes = 0;

  constructor({ onStdout, onStderr, onResult }: CodeOptions) {
    this.#kept = { 1: new KeptOutput(onStdout), 2: new KeptOutput(onStderr) };
    this.reader = new RunReader({
      onOutput: (channel, bytes) => this.#kept[channel].push(bytes),
      onGap: (from, to) => (this.#lostBytes += to - from),
      onResult: (result) => {
        this.#results.push(result);
        onResult?.(result);
      },
    });
  }

  whole(answer: WholeAnswer): CodeAnswer {
    const charts = this.#results.flatMap(({ chart }) => (chart === undefined ? [] : [chart]));
    const lost = this.#lostBytes > 0 && { lostBytes: this.#lostBytes };
    return { ...answer, ...keptTexts(this.#kept), ...lost, results: this.#results, charts };
  }
}
