import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";

const RUN = "scripts/run.mjs";
const NODE = process.execPath;

test.each([
  ["its own code", ["node", "-e", "process.exit(7)"], 7],
  ["128 and the signal's number", ["sh", "-c", "kill -9 $$"], 137],
  ["127 for a program that is not there", ["no-such-program"], 127],
])("a command ends the launcher with %s", (_name, command, code) => {
  expect(spawnSync(NODE, [RUN, ...command]).status).toBe(code);
});

test("arguments reach the command as they are", () => {
  const print = "console.log(JSON.stringify(process.argv.slice(1)))";
  const odd = ["two words", "$HOME", "--flag=*", ""];
  const { stdout } = spawnSync(NODE, [RUN, "node", "-e", print, "--", ...odd], {
    encoding: "utf8",
  });
  expect(JSON.parse(stdout)).toEqual(odd);
});

test("a command runs under the Node of the lock file", () => {
  const { stdout } = spawnSync(NODE, [RUN, "node", "-p", "process.version"], { encoding: "utf8" });
  expect(stdout.trim()).toMatch(/^v24\./);
});

test.each(["SIGTERM", "SIGINT", "SIGHUP"] as const)("%s goes on to the command", async (signal) => {
  const wait = `process.on("${signal}", () => process.exit(9)); console.log("up"); setInterval(() => {}, 1e6)`;
  const run = spawn(NODE, [RUN, "node", "-e", wait], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(run, "exit");
  await once(run.stdout, "data");
  run.kill(signal);
  expect(await ended).toEqual([9, null]);
});
