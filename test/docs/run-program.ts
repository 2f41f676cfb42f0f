import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Program } from "./blocks.ts";

const run = promisify(execFile);

const COMMANDS = {
  sh: { file: "program.sh", command: ["sh", "-eu"] },
  node: { file: "program.mjs", command: [process.execPath] },
  python: { file: "program.py", command: ["python3"] },
} as const satisfies Record<Program["language"], object>;

/** Where and how long a program runs. */
interface Place {
  folder: string;
  env: NodeJS.ProcessEnv;
  signal: AbortSignal;
}

/** Runs a program of a page as a reader would, and answers what it printed. One that fails throws with all it said. */
export async function runProgram(
  { page, language, code }: Program,
  { folder, env, signal }: Place,
): Promise<string> {
  const { file, command } = COMMANDS[language];
  const [program, ...args] = command;
  await writeFile(join(folder, file), code);
  try {
    const { stdout } = await run(program, [...args, file], { cwd: folder, env, signal });
    return stdout;
  } catch (error) {
    const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
    throw new Error(`the ${language} program of ${page} failed:\n${stdout}\n${stderr}`, {
      cause: error,
    });
  }
}
