import type { Language } from "@svc/contract/control-channel/code-methods.ts";
import { readFileSync } from "node:fs";

/** Set by scripts/bundle-agent.ts: the texts of kernels/ by name. */
declare const KERNELS: Record<string, string> | undefined;

/** A kernel reads its program first, and then requests. So no file of it lies in the machine. */
const PYTHON_START = `import os
def take(n):
 b = b''
 while len(b) < n: b += os.read(0, n - len(b)) or os._exit(1)
 return b
exec(compile(take(int.from_bytes(take(4), 'big')), '<svc kernel>', 'exec'), {'__name__': 'svc_kernel'})`;

/** How a kernel is started. */
export interface KernelProgram {
  cmd: string;
  args: string[];
  env: Record<string, string>;
  /** Written to it first. */
  text: string;
}

const START: Record<Language, Omit<KernelProgram, "text"> & { files: readonly string[] }> = {
  python: {
    cmd: "/usr/bin/python3",
    args: ["-c", PYTHON_START],
    env: { MPLBACKEND: "agg" },
    files: ["python.py"],
  },
};

/** The program of a language's kernels. */
export function kernelProgram(language: Language): KernelProgram {
  const { files, ...start } = START[language];
  return { ...start, text: files.map(textOf).join("\n") };
}

function textOf(name: string): string {
  if (typeof KERNELS !== "undefined") return KERNELS[name] ?? "";
  return readFileSync(new URL(`kernels/${name}`, import.meta.url), "utf8");
}
