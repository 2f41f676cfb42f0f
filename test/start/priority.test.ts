import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { describe, expect, onTestFinished, test } from "vitest";
import { goFirst } from "../../scripts/start/priority.ts";

const canLead = process.getuid?.() === 0 && existsSync("/proc/self/autogroup");

/** A shell that leads a session of its own and does what it is told line by line. */
async function shell() {
  const child = spawn("/bin/sh", [], { detached: true, stdio: ["pipe", "pipe", "ignore"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  await once(child, "spawn");
  return {
    child,
    niceOf: async (words: string): Promise<string> => {
      child.stdin.write(`${words} cat /proc/self/autogroup\n`);
      const [answer] = await once(child.stdout, "data");
      return String(answer).trim().replace(/^\S+ /, "");
    },
  };
}

describe.skipIf(!canLead)("a program that goes first", () => {
  test("does so in its own session, and what it starts in another one does not", async () => {
    const { child, niceOf } = await shell();
    expect(await niceOf("")).toBe("nice 0");
    await goFirst(child);
    expect(await niceOf("")).toBe("nice -10");
    expect(await niceOf("setsid")).toBe("nice 0");
  });

  test("leaves the session of this process alone", async () => {
    const before = readFileSync("/proc/self/autogroup", "utf8");
    const { child } = await shell();
    await goFirst(child);
    expect(readFileSync("/proc/self/autogroup", "utf8")).toBe(before);
  });

  test("is no fault when it has ended already", async () => {
    const { child } = await shell();
    child.kill("SIGKILL");
    await once(child, "exit");
    await expect(goFirst(child)).resolves.toBeUndefined();
  });
});
