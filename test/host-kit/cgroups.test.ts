import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, describe, expect, test } from "vitest";
import { Cgroups, clearGroups, groupsOf, inCgroups } from "@svc/host-kit/cgroups.ts";

const execute = promisify(execFile);
const RUN = `svc-test-${process.pid}`;
const MIB = 1024 * 1024;
const CAPS = { memoryBytes: 256 * MIB, tasks: 64 };
/** A host in a group: makes groups of its own, and prints the folders of one that may use two processors. */
const HOST = `import("@svc/host-kit/cgroups.ts").then(async ({ Cgroups, clearGroups, groupsOf }) => {
  const cgroups = await Cgroups.make("${RUN}-inner");
  console.log(JSON.stringify(await cgroups?.add("group", { memoryBytes: ${MIB}, tasks: 1, cores: 2 })));
  await clearGroups(await groupsOf("${RUN}-inner"));
})`;
const SPIN = "const end = Date.now() + 1000; while (Date.now() < end);";

describe.skipIf(process.getuid?.() !== 0)("caps of a group", () => {
  afterEach(async () => clearGroups(await groupsOf(RUN)));

  /** Runs a Node program in a group with these caps. Returns its exit code and how often it was stopped for the processor. */
  async function run(program: string, cores?: number) {
    const cgroups = await Cgroups.make(RUN);
    if (!cgroups) throw new Error("no cgroups");
    const groups = await cgroups.add("group", { ...CAPS, ...(cores !== undefined && { cores }) });
    const [command = "", ...args] = inCgroups(groups, [process.execPath, "-e", program]);
    const [code] = await once(spawn(command, args, { stdio: "ignore" }), "exit");
    const stat = groups.map((group) => statOf(group)).find((text) => text.includes("nr_throttled"));
    return { code, throttled: Number(/nr_throttled (\d+)/.exec(stat ?? "")?.[1] ?? 0) };
  }

  test("a program gets no more processor than its cap", async () => {
    const { code, throttled } = await run(SPIN, 0.1);
    expect(code).toBe(0);
    expect(throttled).toBeGreaterThan(0);
  });

  test("a group without a cap of processors is never stopped", async () => {
    expect(await run(SPIN)).toEqual({ code: 0, throttled: 0 });
  });

  test("a host that has less than a processor itself caps its programs all the same", async () => {
    const cgroups = await Cgroups.make(RUN);
    if (!cgroups) throw new Error("no cgroups");
    const groups = await cgroups.add("group", { ...CAPS, cores: 0.5 });
    const [command = "", ...args] = inCgroups(groups, [process.execPath, "-e", HOST]);
    const { stdout } = await execute(command, args);
    expect(JSON.parse(stdout)).toHaveLength(groups.length);
  });

  test("nothing of a run is left", async () => {
    await run("");
    const groups = await groupsOf(RUN);
    expect(groups.length).toBeGreaterThan(0);
    await clearGroups(groups);
    for (const group of groups) expect(existsSync(group)).toBe(false);
  });
});

function statOf(group: string): string {
  try {
    return readFileSync(join(group, "cpu.stat"), "utf8");
  } catch {
    return "";
  }
}
