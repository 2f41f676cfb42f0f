import { CHANNELS } from "@svc/contract/control-channel/binary-frame.ts";
import {
  CODE_METHODS,
  type CodeResult,
  INLINE_BYTES,
  type RunAnswer,
} from "@svc/contract/control-channel/code-methods.ts";
import { HOST_METHODS } from "@svc/contract/control-channel/host-methods.ts";
import { ANSWER_OUTPUT_BYTES } from "@svc/contract/control-channel/protocol.ts";
import { isRefused } from "@svc/contract/control-channel/refusals.ts";
import { RpcError } from "@svc/contract/control-channel/rpc-error.ts";
import type { Method, RequestContext } from "@svc/contract/control-channel/rpc-server.ts";
import { Collector } from "../commands/collector.ts";
import type { Commands } from "../commands/commands.ts";
import { toStream } from "../commands/follow.ts";
import { method } from "@svc/contract/control-channel/method.ts";
import { Contexts } from "./contexts.ts";
import { fit } from "./results.ts";
import { type Follow, type Run, followRun } from "./run.ts";
import { Runs } from "./runs.ts";

/** What stdout and stderr may each take of an answer, in JSON: results and the error need the rest. */
const OUTPUT_JSON_BYTES = 320 * 1024;
const LONGEST_TIMER_MS = 0x7fff_ffff;
const DONE = { ok: true } as const;
const KEEPS_TIME = { keepsTime: true };

/** The namespace `code`. */
export function codeMethods(commands: Commands): Record<string, Method> {
  const contexts = new Contexts(commands);
  const runs = new Runs();
  return {
    "code.run": runMethod(contexts, runs),
    "code.attach": attachMethod(contexts, runs),
    "code.create": method(
      CODE_METHODS["code.create"],
      async ({ context: name, language, ...place }) => {
        const context = contexts.create(name, { language, place });
        await context.ready();
        return context.info;
      },
    ),
    "code.warm": method(HOST_METHODS["code.warm"], async () => {
      await contexts.spare.warm();
      return {};
    }),
    "code.contexts": method(CODE_METHODS["code.contexts"], async () => ({
      contexts: contexts.all.map(({ info }) => info),
    })),
    "code.interrupt": method(CODE_METHODS["code.interrupt"], async ({ context }) => {
      contexts.get(context).interrupt();
      return DONE;
    }),
    "code.restart": method(CODE_METHODS["code.restart"], async ({ context }) => {
      await contexts.get(context).restart();
      return DONE;
    }),
    "code.remove": method(CODE_METHODS["code.remove"], async ({ context }) => {
      await contexts.remove(context);
      return DONE;
    }),
  };
}

function runMethod(contexts: Contexts, runs: Runs): Method {
  return method(
    CODE_METHODS["code.run"],
    async ({ code, language, context: name, stream = false, timeoutMs, cwd, env }, request) => {
      const place = { ...(cwd !== undefined && { cwd }), ...(env && { env }) };
      const context = contexts.find({ context: name, language, place });
      const run = runs.add(context.name, { code, ...place });
      context.add(run);
      request.notify("code.started", { id: request.id, run: run.id, context: context.name });
      const asked = { from: 0, results: 0, stream, timeoutMs };
      return attend(run, asked, request, () => context.cancel(run));
    },
    KEEPS_TIME,
  );
}

function attachMethod(contexts: Contexts, runs: Runs): Method {
  return method(
    CODE_METHODS["code.attach"],
    async ({ run: id, from, results, stream = false, timeoutMs }, request) => {
      const run = runs.get(id);
      const cancel = () => contexts.get(run.context).cancel(run);
      return attend(run, { from, results, stream, timeoutMs }, request, cancel);
    },
    KEEPS_TIME,
  );
}

interface Asked {
  from: number;
  results: number;
  stream: boolean;
  timeoutMs: number | undefined;
}

/** Waits for the end of a run. It is interrupted when its time is over or its request is cancelled, not when a connection is lost. */
async function attend(run: Run, asked: Asked, request: RequestContext, cancel: () => void) {
  const { signal } = request;
  const { timeoutMs } = asked;
  const onAbort = () => isRefused(signal.reason, "Disconnected") || cancel();
  signal.addEventListener("abort", onAbort, { once: true });
  const timeOut = () => {
    run.isTimedOut = true;
    cancel();
  };
  const timer =
    timeoutMs === undefined ? null : setTimeout(timeOut, Math.min(timeoutMs, LONGEST_TIMER_MS));
  try {
    return await (asked.stream ? streamed(run, asked, request) : collected(run, asked, request));
  } finally {
    if (timer) clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  }
}

async function streamed(run: Run, asked: Asked, request: RequestContext): Promise<RunAnswer> {
  await followRun(run, { ...asked, ...toRequest(request) });
  request.signal.throwIfAborted();
  return answerOf(run);
}

function toRequest(request: RequestContext): Omit<Follow, "from" | "results"> {
  const { id, notify } = request;
  const { take, onGap = () => {}, signal } = toStream(request);
  const onResult = async (result: CodeResult) => {
    const { results, parts } = fit([result], INLINE_BYTES);
    await send(request, parts);
    notify("code.result", { id, result: results[0] });
  };
  return { take, onGap, signal, onResult };
}

async function collected(run: Run, asked: Asked, request: RequestContext): Promise<RunAnswer> {
  const { signal, notify, id } = request;
  const output = new Collector(ANSWER_OUTPUT_BYTES, OUTPUT_JSON_BYTES);
  const shown: CodeResult[] = [];
  await followRun(run, {
    ...asked,
    signal,
    take: output.take.bind(output),
    onResult: (result) => void shown.push(result),
    onGap: (from, to) => notify("rpc.gap", { stream: id, from, to }),
  });
  signal.throwIfAborted();
  const printed = output.result();
  const answer = await answerOf(run).catch((error: unknown) => {
    // Others may be attached to the same run: each has its own.
    if (!(error instanceof RpcError)) throw error;
    throw new RpcError(error.code, error.message, { ...error.data, ...printed });
  });
  const whole = { ...answer, ...printed, ...(run.isTruncated && { truncated: true as const }) };
  const room = INLINE_BYTES - Buffer.byteLength(JSON.stringify(whole));
  const charts = shown.flatMap(({ chart }) => (chart === undefined ? [] : [chart]));
  const { results, parts } = fit([...shown, { charts }], room);
  await send(request, parts);
  return { ...whole, ...results.pop(), results };
}

async function send({ stream }: RequestContext, parts: readonly Buffer[]): Promise<void> {
  for (const part of parts) await stream.write(CHANNELS.parts, part);
}

async function answerOf(run: Run): Promise<RunAnswer> {
  const { executionCount, error, exitCode } = await run.done;
  return {
    run: run.id,
    context: run.context,
    executionCount,
    ...(error && { error }),
    ...(exitCode !== undefined && { exitCode }),
    ...(run.isTimedOut && { timedOut: true as const }),
    ...(run.restarted !== null && { restarted: run.restarted }),
    ...(run.isTruncated && { truncated: true as const }),
  };
}
