import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { beginCode, missingPython, runCode } from "./code-rig.ts";
import { AgentRig } from "./rig.ts";

let rig: AgentRig;
beforeAll(async () => void (rig = await AgentRig.start()));
afterAll(() => rig.close());

const run = (code: string, context: string) => runCode(rig, code, context);
const begin = (code: string, context: string, more?: { stream?: boolean }) =>
  beginCode(rig, code, context, more);

describe.skipIf(missingPython)("a kernel that was warmed", () => {
  const lookAt = () => `import os, sys
print("pandas" in sys.modules, os.getcwd() == "${rig.home}", os.environ["GREETING"])`;

  test("is the first context's, with its folder and its variables, and nobody else's", async () => {
    await rig.control.host.ask("code.warm", {});
    expect(await run(lookAt(), "adopts")).toMatchObject({
      stdout: "True True hello\n",
      executionCount: 1,
    });
    expect(await run(lookAt(), "adopts-not")).toMatchObject({ stdout: "False True hello\n" });
  });

  test("is not used where a variable is set that Python reads at its start", async () => {
    await rig.control.host.ask("code.warm", {});
    const { client } = rig.bulk.customer();
    const env = { PYTHONPATH: "/usr/share" };
    await client.ask("code.create", { context: "own-path", env });
    expect(await run(`${lookAt()}; print("/usr/share" in sys.path)`, "own-path")).toMatchObject({
      stdout: "False True hello\nTrue\n",
    });
  });
});

describe.skipIf(missingPython)("a kernel that ends", () => {
  test("is told with its cause and what it printed, and the next run begins anew and says so", async () => {
    await run("kept = 1", "dies");
    const dies = run("print('last words', flush=True); import os; os._exit(7)", "dies");
    await expect(dies).rejects.toMatchObject({
      message: expect.stringContaining("exited with code 7"),
      data: { code: "KernelDied", retryable: false, stdout: "last words\n" },
    });
    expect(await run("'kept' in globals()", "dies")).toMatchObject({
      results: [{ text: "False" }],
      restarted: expect.stringContaining("code 7"),
    });
    expect((await run("1", "dies")).restarted).toBeUndefined();
  });

  test("fails the runs that waited for it", async () => {
    const waits = "while not os.path.exists('aborts'): time.sleep(0.01)";
    const first = await begin(`import os, time\n${waits}\nos.abort()`, "queue");
    const second = await begin("1", "queue");
    for (const { result } of [first, second]) result.catch(() => null);
    await writeFile(join(rig.home, "aborts"), "");
    await expect(first.result).rejects.toMatchObject({
      message: expect.stringContaining("SIGABRT"),
    });
    await expect(second.result).rejects.toMatchObject({ data: { code: "KernelDied" } });
  });

  test("because the code cannot be interrupted says so", async () => {
    const stuck = `import ctypes
c, mutex = ctypes.CDLL(None), ctypes.create_string_buffer(64)
c.pthread_mutex_lock(mutex); print("in", flush=True); c.pthread_mutex_lock(mutex)`;
    const { result, output, client } = await begin(stuck, "stuck", { stream: true });
    await expect.poll(() => output.stdout.toString()).toBe("in\n");
    await client.ask("code.interrupt", { context: "stuck" });
    await expect(result).rejects.toMatchObject({
      message: expect.stringContaining("its interrupt"),
    });
  });
});
