#!/usr/bin/env node
// Plain JavaScript for whatever Node there is. A package has the bundle; a clone runs its sources under its own Node 24.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { constants } from "node:os";
import { fileURLToPath } from "node:url";

const here = (/** @type {string} */ path) => fileURLToPath(new URL(path, import.meta.url));

if (!existsSync(here("main.ts"))) await import(new URL("dist/svc.js", import.meta.url).href);
else if (process.features.typescript) await import(new URL("main.ts", import.meta.url).href);
else process.exitCode = await underOwnNode();

/** Runs the sources under the Node of the clone. The exit code is the one that a shell would give. */
function underOwnNode() {
  const name = `node-${process.platform}-${process.arch}`;
  const node = here(`../node_modules/${name}/bin/node`);
  if (!existsSync(node)) {
    console.error(
      `svc: Node ${process.versions.node} cannot run the sources: run npm install, or bring Node 24.`,
    );
    return 2;
  }
  const args = ["--disable-warning=ExperimentalWarning", here("main.ts"), ...process.argv.slice(2)];
  const child = spawn(node, args, { stdio: "inherit" });
  // Ctrl-C of a terminal reaches its whole group, the child too.
  const { stdin, stdout, stderr } = process;
  const hasTerminal = [stdin, stdout, stderr].some(({ isTTY }) => isTTY);
  process.on("SIGINT", () => void (hasTerminal || child.kill("SIGINT")));
  for (const signal of /** @type {const} */ (["SIGTERM", "SIGHUP"]))
    process.on(signal, () => void child.kill(signal));
  return /** @type {Promise<number>} */ (
    new Promise((resolve) => {
      child.on("exit", (code, signal) =>
        resolve(code ?? 128 + (signal ? constants.signals[signal] : 0)),
      );
    })
  );
}
