import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";

const STEPS = [
  "tsc -p tsconfig.neutral.json",
  "tsc -p tsconfig.worker.json",
  "tsc -p tsconfig.browser.json",
  "tsc -p tsconfig.node.json",
  "oxfmt --check",
  "oxlint --type-aware",
  "node scripts/docs.ts --check",
];

/** Runs one step to its end; what it says counts only when it fails. */
async function run(step: string): Promise<string | undefined> {
  const [file = "", ...args] = step.split(" ");
  const child = spawn(file, args, { stdio: ["ignore", "pipe", "pipe"] });
  const said = Promise.all([text(child.stdout), text(child.stderr)]);
  const [code] = (await once(child, "close")) as [number | null];
  const ended = `${code === 0 ? "ok  " : "FAIL"}  ${step}`;
  console.log(ended);
  return code === 0 ? undefined : `\n${ended}\n${(await said).join("")}`;
}

const faults = (await Promise.all(STEPS.map(run))).filter((fault) => fault !== undefined);
for (const fault of faults) console.error(fault);
process.exitCode = faults.length > 0 ? 1 : 0;
