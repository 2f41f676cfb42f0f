/**
 * Loaded before a host (`--import`): counts the steps by which it changes what outlives it, from the moment that it is told
 * to, and kills it right before the one that it was told. A step is a change of a file of its records or machines, a
 * command to QEMU, or the start of a program.
 */
import childProcess from "node:child_process";
import files from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import net from "node:net";

const CHANGES = ["copyFile", "link", "mkdir", "open", "rename", "rm", "writeFile"] as const;
const PLACES = /\/(records|disks)\/|svcvm-/;

let steps: string[] | null = null;
let killAt = Infinity;

function step(name: string): void {
  if (!steps) return;
  steps.push(name);
  if (steps.length >= killAt) process.kill(process.pid, "SIGKILL");
}

// Each call goes on to the function of before with the arguments it came with.
const patched: Record<string, unknown> = files as never;
for (const name of CHANGES) {
  const before = patched[name] as (...args: unknown[]) => unknown;
  patched[name] = (...args: unknown[]) => {
    if (PLACES.test(String(args[0]))) step(`${name} ${String(args[0]).split("/").at(-1)}`);
    return before.apply(files, args);
  };
}

const spawn = childProcess.spawn as (...args: unknown[]) => unknown;
childProcess.spawn = ((...args: unknown[]) => {
  step(`spawn ${String(args[0])}`);
  return spawn.apply(childProcess, args);
}) as never;

const sockets: { write: (...args: unknown[]) => boolean } = net.Socket.prototype as never;
const before = { write: sockets.write };
sockets.write = function write(...args) {
  const [, command] = /^\{"execute":"(?!query)([\w-]+)"/.exec(String(args[0]).slice(0, 60)) ?? [];
  if (command !== undefined) step(command);
  return before.write.apply(this, args);
};
syncBuiltinESMExports();

process.on("message", (message: { killAt?: number; isAsked?: boolean }) => {
  if (message.killAt !== undefined) [steps, killAt] = [[], message.killAt];
  if (message.isAsked) process.send?.({ type: "steps", steps: steps ?? [] });
});
// What is heard alone keeps no process alive.
process.channel?.unref();
