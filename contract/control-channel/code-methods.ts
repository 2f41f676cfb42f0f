import { openMap } from "../open-map.ts";
import * as z from "zod";

const noNul = z.string().regex(/^[^\0]*$/, "has a NUL character");
const envs = openMap(z.string().regex(/^[^=\0]+$/), noNul);
const ok = z.object({ ok: z.literal(true) });
const timeoutMs = z.number().positive().exactOptional();

/** Contexts of a machine at once. */
export const CONTEXTS_MAX = 24;
/** Runs of one context that wait for their turn. */
export const QUEUED_RUNS_MAX = 64;
/** One result of a run, in JSON: what is larger is left out, and a line of stderr says so. */
export const RESULT_BYTES = 8 * 1024 * 1024;
/** Results of one run that are kept for its answer, in number and in bytes of JSON. */
export const RUN_RESULTS_MAX = 500;
export const RUN_RESULTS_BYTES = 16 * 1024 * 1024;
/** Parts of results are inside a message up to this length; beyond it the largest go over a channel (decisions). */
export const INLINE_BYTES = 900_000;

/** Languages of contexts. */
export const LANGUAGES = ["python", "javascript", "bash"] as const;
/** A language of contexts. */
export type Language = (typeof LANGUAGES)[number];

const Context = z.string().regex(/^[\w.:-]{1,64}$/, "is no name of up to 64 letters, digits, _.:-");
const RunId = z.string().regex(/^run_[0-9a-z]+$/);

/** A part of a result whose bytes came over a channel: the next so many of it. Texts are UTF-8, JSON is JSON, pictures are files. */
export const MovedPart = z.object({ channel: z.literal(3), bytes: z.int() });
const part = z.union([z.string(), MovedPart]);

/** One thing that a run has shown: a value, a picture, whatever it can be seen as. */
export const CodeResult = z.object({
  text: part.exactOptional(),
  html: part.exactOptional(),
  markdown: part.exactOptional(),
  svg: part.exactOptional(),
  /** Base64. */
  png: part.exactOptional(),
  /** Base64. */
  jpeg: part.exactOptional(),
  json: z.unknown().optional(),
  latex: part.exactOptional(),
  /** What a figure shows, as numbers: a `Chart`. */
  chart: z.unknown().optional(),
  /** The first rows of a table: `{ columns, index, rows, totalRows }`. */
  table: z.unknown().optional(),
  /** Something of it was cut or left out for its size. */
  truncated: z.literal(true).exactOptional(),
});
export type CodeResult = z.infer<typeof CodeResult>;

/** What went wrong in the code. */
export const CodeError = z.object({ name: z.string(), value: z.string(), traceback: z.string() });
export type CodeError = z.infer<typeof CodeError>;

/** How a run ended. Output and results are here unless they were streamed. */
export const RunAnswer = z.object({
  run: RunId,
  context: Context,
  stdout: z.string().exactOptional(),
  stderr: z.string().exactOptional(),
  results: z.array(CodeResult).exactOptional(),
  /** The charts of all results, or where they came to. */
  charts: z.union([z.array(z.unknown()), MovedPart]).exactOptional(),
  /** Output, or results, were more than an answer holds. */
  truncated: z.literal(true).exactOptional(),
  error: CodeError.exactOptional(),
  executionCount: z.int(),
  /** Of a bash context: the exit code of the last command. A non-zero one is no error. */
  exitCode: z.int().exactOptional(),
  /** The run was interrupted at `timeoutMs`. */
  timedOut: z.literal(true).exactOptional(),
  /** The context began anew with this run, without the variables from before: why. */
  restarted: z.string().exactOptional(),
});
export type RunAnswer = z.infer<typeof RunAnswer>;

/** A context, as `code.contexts` tells of it. */
export const ContextInfo = z.object({
  context: Context,
  language: z.enum(LANGUAGES),
  /** Of its kernel, while there is one. */
  pid: z.int().exactOptional(),
  running: z.object({ run: RunId, startedAt: z.iso.datetime() }).exactOptional(),
  queued: z.int(),
  executionCount: z.int(),
});
export type ContextInfo = z.infer<typeof ContextInfo>;

const place = { cwd: noNul.min(1).max(4096).exactOptional(), env: envs.exactOptional() };

/** The namespace `code`. Contexts keep their variables from run to run. */
export const CODE_METHODS = {
  /**
   * Runs code in a context, which is made where it is not there, and tells the run's id at once (`code.started`). With
   * `stream` output comes on channels 1 and 2, and results as `code.result`. `cwd` and `env` stay with the context.
   */
  "code.run": {
    params: z.object({
      code: z.string(),
      language: z.enum(LANGUAGES).exactOptional(),
      context: Context.exactOptional(),
      ...place,
      stream: z.boolean().exactOptional(),
      timeoutMs,
    }),
    result: RunAnswer,
  },
  /** Goes on with a run, also one that has ended: output from byte `from` on, results from number `results` on. */
  "code.attach": {
    params: z.object({
      run: RunId,
      from: z.int().nonnegative().default(0),
      results: z.int().nonnegative().default(0),
      stream: z.boolean().exactOptional(),
      timeoutMs,
    }),
    result: RunAnswer,
  },
  /** Makes a context and starts its kernel. */
  "code.create": {
    params: z.object({ context: Context, language: z.enum(LANGUAGES).exactOptional(), ...place }),
    result: ContextInfo,
  },
  "code.contexts": { params: z.object({}), result: z.object({ contexts: z.array(ContextInfo) }) },
  /** Stops the code that runs. Its run ends with an error, the variables stay. */
  "code.interrupt": { params: z.object({ context: Context.default("default") }), result: ok },
  /** Ends the kernel and what it runs, and begins a new one. */
  "code.restart": { params: z.object({ context: Context.default("default") }), result: ok },
  /** Ends the kernel and forgets the context. */
  "code.remove": { params: z.object({ context: Context }), result: ok },
} as const;

/** `code.started`: a request has become this run, which goes on without its connection. */
export const CodeStarted = z.object({ id: z.int(), run: RunId, context: Context });
/** `code.result`: the run of a request has shown something. Parts that came over a channel came before. */
export const CodeResultTold = z.object({ id: z.int(), result: CodeResult });
