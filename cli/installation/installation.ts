import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { constants } from "node:os";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { UsageError } from "../errors.ts";

/** Runs a command of the project under its own Node; it installs what is missing first. */
const LAUNCHER = join("scripts", "run.mjs");

/** The folder of the project that this program is of, or that it is called in; null where there is none. */
export function installationFolder(): string | null {
  const starts = [process.cwd(), dirname(fileURLToPath(import.meta.url))];
  return starts.map(rootAbove).find((root) => root !== null) ?? null;
}

/** The folder of the project, for commands that need it. */
export function neededInstallation(): string {
  const root = installationFolder();
  if (root !== null) return root;
  throw new UsageError(
    "This is no installation of the service: clone the project, and run this in its folder. `svc` alone talks to a service that runs already.",
  );
}

/** Runs a script of the project in this terminal, and ends as it does. */
export async function runScript(root: string, script: readonly string[]): Promise<number> {
  const child = spawn(process.execPath, launched(script), { cwd: root, stdio: "inherit" });
  // Ctrl-C of a terminal reaches its whole group, the child too.
  const { stdin, stdout, stderr } = process;
  const hasTerminal = [stdin, stdout, stderr].some(({ isTTY }) => isTTY);
  process.on("SIGINT", () => void (hasTerminal || child.kill("SIGINT")));
  for (const signal of ["SIGTERM", "SIGHUP"] as const) process.on(signal, () => child.kill(signal));
  const [code, signal] = (await once(child, "exit")) as [number | null, NodeJS.Signals | null];
  return code ?? 128 + (signal ? constants.signals[signal] : 0);
}

/** The stdout of a script of the project. Its stderr goes to the person. */
export async function readScript(root: string, script: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, launched(script), {
    cwd: root,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [said] = await Promise.all([text(child.stdout), once(child, "close")]);
  return said;
}

/** The launcher ends what it started when this process is gone. */
const launched = (script: readonly string[]): string[] => [
  LAUNCHER,
  String(process.pid),
  "node",
  ...script,
];

function rootAbove(folder: string): string | null {
  for (let at = folder; ; at = dirname(at)) {
    if (isRoot(at)) return at;
    if (at === dirname(at)) return null;
  }
}

function isRoot(folder: string): boolean {
  if (!existsSync(join(folder, LAUNCHER))) return false;
  try {
    const manifest: unknown = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    return (
      typeof manifest === "object" &&
      manifest !== null &&
      "name" in manifest &&
      manifest.name === "svc"
    );
  } catch {
    return false;
  }
}
