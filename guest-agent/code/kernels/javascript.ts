// The kernel of a JavaScript context: one process that runs cells by Node's own REPL and keeps their state. The agent writes
// requests to fd 9 and reads messages from fd 3, both `u32be length | JSON`. Imports nothing but Node: it is told as a text.
import type { Domain } from "node:domain";
import { writeSync } from "node:fs";
import { createRequire } from "node:module";
import { Socket } from "node:net";
import { resolve as resolvePath } from "node:path";
import { type REPLServer, start } from "node:repl";
import { PassThrough, Readable } from "node:stream";
import { inspect } from "node:util";

/** MIME types by field, and how long things may be. */
interface Limits {
  maxBytes: number;
  textCharacters: number;
  fields: Record<string, string>;
}

interface Order {
  run: string;
  code: string;
  results: Limits;
  cwd?: string;
  env?: Record<string, string>;
}

type Result = Record<string, unknown>;
type Bundle = Record<string, unknown>;
type Shows = () => Bundle | Promise<Bundle>;

const [INPUT, OUTPUT] = [9, 3];
const TRACEBACK_CHARACTERS = 32 * 1024;
/** A character of JSON is three bytes at most. */
const CHARACTER_BYTES = 3;
/** How values of other notebooks say what they look like. */
const SHOWN_AS = Symbol.for("Jupyter.display");

let running: Order | null = null;
let executionCount = 0;

function send(message: object): void {
  const body = Buffer.from(JSON.stringify(message));
  const frame = Buffer.alloc(4 + body.length);
  frame.writeUInt32BE(body.length);
  body.copy(frame, 4);
  for (let at = 0; at < frame.length;) at += writeSync(OUTPUT, frame, at);
}

const note = (text: string): void => void process.stderr.write(`svc: ${text}\n`);

function resultOf(bundle: Bundle, { fields }: Limits): Result {
  const result: Result = {};
  for (const [mime, field] of Object.entries(fields)) {
    const value = bundle[mime];
    if (value === undefined || value === null) continue;
    if (["json", "table", "chart"].includes(field)) result[field] = value;
    else if (value instanceof Uint8Array) result[field] = Buffer.from(value).toString("base64");
    else result[field] = typeof value === "string" ? value : inspect(value);
  }
  return result;
}

/** Leaves out what is too large, and says so. */
function fit(result: Result, { maxBytes, textCharacters }: Limits): Result {
  const { text } = result;
  if (typeof text === "string" && text.length > textCharacters)
    Object.assign(result, { text: `${text.slice(0, textCharacters)}…`, truncated: true });
  const sizes = Object.entries(result).map(([field, value]) => ({
    field,
    characters: JSON.stringify(value)?.length ?? 0,
  }));
  let total = sizes.reduce((sum, { characters }) => sum + characters, 0);
  for (const { field, characters } of sizes.toSorted((a, b) => b.characters - a.characters)) {
    if (total * CHARACTER_BYTES <= maxBytes) break;
    total -= characters;
    delete result[field];
    result["truncated"] = true;
    note(`the ${field} of this result has ${characters} characters and is left out. Use a file.`);
  }
  return result;
}

/** Shows a value as a result: by what it says of itself, or as text. */
async function display(value: unknown): Promise<void> {
  const own = Object(value)[SHOWN_AS] as Shows | undefined;
  const bundle =
    typeof own === "function"
      ? await own.call(value)
      : { "text/plain": inspect(value, { maxStringLength: null }) };
  if (!running) return;
  const { run, results } = running;
  send({ kind: "result", run, result: fit(resultOf(bundle, results), results) });
}

function errorOf(error: unknown): { name: string; value: string; traceback: string } {
  const { name, message, stack } =
    error instanceof Error ? error : { name: "Error", message: inspect(error), stack: "" };
  return {
    name: String(name).slice(0, 200),
    value: String(message).slice(0, TRACEBACK_CHARACTERS),
    traceback: String(stack).slice(0, TRACEBACK_CHARACTERS),
  };
}

const IMPORT =
  /^import\s+(?:([\w$]+)\s*,?\s*)?(?:\*\s+as\s+([\w$]+)\s*|\{([^}]*)\}\s*)?(?:from\s*)?(["'][^"']+["'])(?:\s+with\s+(\{[^}]*\}))?\s*;?/gm;

/** A cell as the REPL takes it: imports are asked for, and what a cell declares the next one may declare again. */
function prepare(code: string): string {
  return code
    .replace(IMPORT, (_all, whole?: string, space?: string, names?: string, from = "", how = "") =>
      imported({ whole, space, names }, `await import(${from}${how ? `, { with: ${how} }` : ""})`),
    )
    .replace(/^(?:const|let)(?=\s+[\w$[{])/gm, "var")
    .replace(/^class\s+([\w$]+)/gm, "var $1 = class $1");
}

interface Names {
  whole: string | undefined;
  space: string | undefined;
  names: string | undefined;
}

function imported({ whole, space, names }: Names, module: string): string {
  if (space !== undefined)
    return `var ${space} = ${module};${whole ? ` var ${whole} = ${space}.default;` : ""}`;
  const parts = [
    ...(whole ? [`default: ${whole}`] : []),
    ...(names ? [names.replaceAll(/\s+as\s+/g, ": ")] : []),
  ];
  return parts.length > 0 ? `var { ${parts.join(", ")} } = ${module};` : `${module};`;
}

// A REPL tells of what a cell throws by its domain, and of what a cell awaits by the call-back.
const server = start({
  input: new PassThrough(),
  output: new PassThrough().resume(),
  prompt: "",
  terminal: false,
  useGlobal: true,
  breakEvalOnSigint: true,
}) as REPLServer & { _domain: Domain };
const tell = (error: unknown): void => note(inspect(error));
let fail: (error: unknown) => void = tell;
server._domain.removeAllListeners("error");
server._domain.on("error", (error) => fail(error));
Object.assign(globalThis, { display });
Object.defineProperty(process, "stdin", { value: Readable.from([]), configurable: true });
// Between cells nobody is interrupted, and what fails then ends nothing.
const interrupt = (): void => void (running && server.emit("SIGINT"));
process.on("SIGINT", interrupt);
process.on("uncaughtException", tell);
process.on("unhandledRejection", tell);

function evaluate(code: string): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  fail = reject;
  // While a script runs the engine has a handler of its own, which a listener would take away.
  process.off("SIGINT", interrupt);
  server.eval(code, server.context, "cell.js", (error, value) =>
    error ? reject(error) : resolve(value),
  );
  process.on("SIGINT", interrupt);
  return promise.finally(() => (fail = tell));
}

async function answer(order: Order): Promise<void> {
  running = order;
  executionCount += 1;
  let error: object | null = null;
  try {
    if (order.cwd !== undefined) process.chdir(order.cwd);
    Object.assign(process.env, order.env);
    Object.assign(globalThis, { require: createRequire(resolvePath("cell.js")) });
    const value = await evaluate(prepare(order.code));
    if (value !== undefined) await display(value);
  } catch (thrown) {
    // The REPL wraps the error of a cell that could go on.
    error = errorOf(Object(thrown).err ?? thrown);
  }
  running = null;
  send({ kind: "done", run: order.run, executionCount, ...(error && { error }) });
}

let waiting = Buffer.alloc(0);
let turn = Promise.resolve();
const input = new Socket({ fd: INPUT, readable: true, writable: false });
input.on("end", () => process.exit(0));
input.on("data", (chunk: Buffer) => {
  waiting = Buffer.concat([waiting, chunk]);
  while (waiting.length >= 4 && waiting.length >= 4 + waiting.readUInt32BE()) {
    const end = 4 + waiting.readUInt32BE();
    const order = JSON.parse(waiting.toString("utf8", 4, end)) as Order;
    waiting = waiting.subarray(end);
    turn = turn.then(() => answer(order));
  }
});
send({ kind: "ready" });
