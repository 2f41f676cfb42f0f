import { type Language, RESULT_BYTES } from "@svc/contract/control-channel/code-methods.ts";
import {
  RESULT_TEXT_CHARACTERS,
  RESULT_TYPES,
} from "@svc/contract/control-channel/result-types.ts";
import { readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import type { Cell } from "./run.ts";

/** Set by scripts/bundle-agent.ts: the texts of kernels/ by name. */
declare const KERNELS: Record<string, string> | undefined;

/** A cell as a kernel is told of it. */
export interface Order extends Cell {
  kind: "run";
  run: string;
}

/** The limits and fields of results, told to every kernel with each cell. */
const RESULTS = {
  maxBytes: RESULT_BYTES,
  textCharacters: RESULT_TEXT_CHARACTERS,
  fields: RESULT_TYPES,
};

/** How kernels of a language are started and spoken to. No file of them lies in the machine. */
export interface KernelProgram {
  cmd: string;
  args: string[];
  env: Record<string, string>;
  /** What is written to it before anything else. */
  first: Buffer;
  encode: (order: Order) => Buffer;
}

/** The program of a language's kernels. */
export function kernelProgram(language: Language): KernelProgram {
  return PROGRAMS[language]();
}

const PYTHON_START = `import os
def take(n):
 b = b''
 while len(b) < n: b += os.read(0, n - len(b)) or os._exit(1)
 return b
exec(compile(take(int.from_bytes(take(4), 'big')), '<svc kernel>', 'exec'), {'__name__': 'svc_kernel'})`;

/** One program, in this order. */
const PYTHON_PARTS = ["wire.py", "results.py", "charts.py", "figures.py", "python.py"];

// A block: what it declares is not a cell's business.
const NODE_START = `{
const { readSync } = require("node:fs");
const take = (count) => {
  const bytes = Buffer.alloc(count);
  for (let at = 0; at < count; ) at += readSync(9, bytes, at, count - at) || process.exit(1);
  return bytes;
};
import("data:text/javascript;base64," + take(take(4).readUInt32BE()).toString("base64"));
}`;
/** Node cannot move its own input away from 0, where programs that it starts would read from it. */
const MOVED_INPUT = 'exec 9<&0 </dev/null; exec "$@"';

const PROGRAMS: Record<Language, () => KernelProgram> = {
  python: () => ({
    cmd: "/usr/bin/python3",
    args: ["-c", PYTHON_START],
    env: { MPLBACKEND: "agg" },
    first: framed(PYTHON_PARTS.map(textOf).join("\n")),
    encode: jsonOrder,
  }),
  javascript: () => ({
    cmd: "/bin/sh",
    args: ["-c", MOVED_INPUT, "kernel", process.execPath, "-e", NODE_START],
    env: {},
    first: framed(textOf("javascript.ts")),
    encode: jsonOrder,
  }),
  bash: () => ({
    cmd: "/bin/bash",
    args: ["-c", textOf("bash.sh")],
    env: {},
    first: Buffer.alloc(0),
    encode: shellOrder,
  }),
};

const jsonOrder = (order: Order): Buffer => framed(JSON.stringify({ ...order, results: RESULTS }));

// A shell can hold no NUL: it ends what comes before it.
function shellOrder({ run, code, cwd, env = {} }: Order): Buffer {
  const lines = Object.entries(env).map(([name, value]) => `export ${quoted(`${name}=${value}`)}`);
  if (cwd !== undefined) lines.push(`cd -- ${quoted(cwd)}`);
  return Buffer.from(`${run}\0${[...lines, code.replaceAll("\0", "")].join("\n")}\0`);
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** A message to a kernel: its length, then itself. */
export function framed(text: string): Buffer {
  const body = Buffer.from(text);
  const head = Buffer.alloc(4);
  head.writeUInt32BE(body.length);
  return Buffer.concat([head, body]);
}

function textOf(name: string): string {
  if (typeof KERNELS !== "undefined") return KERNELS[name] ?? "";
  const text = readFileSync(new URL(`kernels/${name}`, import.meta.url), "utf8");
  return name.endsWith(".ts") ? stripTypeScriptTypes(text) : text;
}
