import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, readdirSync } from "node:fs";
import { HELPER_SCRIPT } from "@svc/guest-agent/launcher/script.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { AgentRig } from "./rig.ts";

/** Longer than the agent and its helper need to notice each other's silence. */
const PATIENCE_MS = 120_000;

/** An agent that says nothing for so long has been ended. */
const HANGING_MS = 45_000;

/** A parent that starts the helper and never says a word: an agent whose loop is held. */
const HELD_AGENT = `
const { spawn } = require("node:child_process");
spawn("perl", ["-e", process.argv[1], process.arch], { stdio: ["pipe", "pipe", "inherit"] });
setInterval(() => {}, 1_000);`;

function helperOf(pid: number): number {
  for (const name of readdirSync("/proc").filter((entry) => /^\d+$/.test(entry))) {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "utf8");
      if (stat.includes("(perl)") && stat.split(") ")[1]?.split(" ")[1] === String(pid))
        return Number(name);
    } catch {
      // It has ended since the folder was read.
    }
  }
  throw new Error("no helper");
}

describe.concurrent("an agent and its helper", { timeout: PATIENCE_MS }, () => {
  let rig: AgentRig;
  beforeAll(async () => {
    rig = await AgentRig.start();
  });
  afterAll(() => rig.close());

  const run = async () =>
    (await rig.control.host.ask("commands.run", { cmd: "echo", args: ["back"] })).stdout;

  test("an agent that is stopped is continued and answers", async () => {
    expect(await run()).toBe("back\n");
    process.kill(rig.pid, "SIGSTOP");
    expect(await run()).toBe("back\n");
  });

  test("a helper that is stopped is continued, and commands start again", async () => {
    const other = await AgentRig.start();
    process.kill(helperOf(other.pid), "SIGSTOP");
    const { stdout } = await other.control.host.ask("commands.run", { cmd: "echo", args: ["x"] });
    expect(stdout).toBe("x\n");
    await other.close();
  });

  test("an agent that hangs is ended, so that another one is started", async () => {
    const agent = spawn(process.execPath, ["-e", HELD_AGENT, HELPER_SCRIPT], { stdio: "ignore" });
    expect(await once(agent, "exit")).toEqual([null, "SIGKILL"]);
  });

  test("an agent that answers is left alone for longer than one that hangs", async () => {
    const other = await AgentRig.start();
    await new Promise((resolve) => setTimeout(resolve, HANGING_MS));
    expect((await other.control.host.ask("commands.run", { cmd: "true" })).exitCode).toBe(0);
    await other.close();
  });
});
