import { once } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import { SandboxedProcess } from "../../browser-pool/launch/process.ts";
import { socketPair } from "./socket-pair.ts";

/** A program that has a process channel and writes into it by itself. It says on its pipe that it runs. */
function program(code: string): SandboxedProcess {
  const script = `const { writeSync } = require("node:fs"); const fd = Number(process.env.FD);
const write = (text) => writeSync(fd, text);
${code}; writeSync(4, "ready"); setInterval(() => {}, 1000);`;
  // Node would close the number of a channel that it does not know.
  const process = new SandboxedProcess(
    ["/usr/bin/env", "FD=6", globalThis.process.execPath, "-e", script],
    true,
  );
  onTestFinished(() => process.kill());
  return process;
}

test.each([
  ["no JSON", `write("{{{\\n")`],
  ["an answer to nothing", `write('{"cmd":"NODE_HANDLE_ACK"}\\n')`],
  ["a socket of no kind", `write('{"cmd":"NODE_HANDLE","type":"net.Nothing"}\\n')`],
  ["a line without an end", `write("x".repeat(100_000))`],
  ["a message of its own", `write('{"hello":1}\\n')`],
])(
  "a program that writes %s into its channel is ended, and nothing else happens",
  async (_, code) => {
    const process = program(code);
    await process.exited;
    expect(process.hasMisbehaved).toBe(true);
    expect(process.killedBy).toBe("SIGKILL");
  },
);

test("a socket that is given can be closed from here when the program has ended", async () => {
  const process = program("");
  await once(process.fromInside, "data");
  const [near, far] = await socketPair();
  process.give({ hello: true }, near);
  await process.kill();
  expect(process.hasMisbehaved).toBe(false);
  near.end("last words");
  const [words] = await once(far, "data");
  expect(String(words)).toBe("last words");
});
