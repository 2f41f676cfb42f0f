import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { missingPython } from "./code-rig.ts";
import { AgentRig, Output } from "./rig.ts";

let rig: AgentRig;
beforeAll(async () => void (rig = await AgentRig.start()));
afterAll(() => rig.close());

const run = (code: string, context = "default") =>
  rig.bulk.customer().client.ask("code.run", { code, context });

const agentMb = (): number =>
  Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${rig.pid}/status`, "utf8"))?.[1]) / 1024;

describe.skipIf(missingPython)("code that", () => {
  test("prints 100 MB streams all of it in order, and the agent stays small", async () => {
    const { client } = rig.bulk.customer();
    const before = agentMb();
    let bytes = 0;
    let isInOrder = true;
    let most = 0;
    const { result } = client.call(
      "code.run",
      { code: "for n in range(100): print(f'{n:07d}' * 142857)", stream: true },
      {
        onBytes: (_channel, part) => {
          for (let at = (7 - ((bytes % 1_000_000) % 7)) % 7; at + 7 <= part.length; at += 70_000) {
            const line = Math.floor((bytes + at) / 1_000_000);
            const text = Buffer.from(part.subarray(at, at + 7)).toString();
            if (!text.includes("\n") && Number(text) !== line) isInOrder = false;
          }
          bytes += part.length;
          most = Math.max(most, agentMb());
        },
      },
    );
    expect(await result).toMatchObject({ executionCount: 1 });
    expect([bytes, isInOrder]).toEqual([100_000_000, true]);
    expect(most - before).toBeLessThan(150);
  });

  test("prints too much for an answer is cut, and the answer says so", async () => {
    const { stdout, truncated } = await run("print('x' * 20_000_000)");
    expect(stdout).toHaveLength(256 * 1024);
    expect(truncated).toBe(true);
  });

  test("shows a large picture has its bytes on the channel of parts", async () => {
    const { client } = rig.bulk.customer();
    const output = new Output();
    const code = `import os
from IPython.display import Image
data = b"\\x89PNG\\r\\n\\x1a\\n" + os.urandom(2_000_000)
display(Image(data, format="png")); print(data[-20:].hex())`;
    const call = client.call("code.run", { code }, { onBytes: output.onBytes });
    const { results, stdout = "" } = await call.result;
    expect(results).toMatchObject([{ png: { channel: 3, bytes: 2_000_008 } }]);
    const part = Buffer.concat(output.parts[3]);
    expect([part.length, part.subarray(-20).toString("hex")]).toEqual([2_000_008, stdout.trim()]);
  });

  test("shows a large picture to a connection that is lost meanwhile shows it to the next one", async () => {
    const code = `from IPython.display import Image, display
for n in range(3): display(Image(b"\\x89PNG\\r\\n\\x1a\\n" + bytes([n]) * 2_000_000, format="png"))`;
    const { client, connection } = rig.bulk.customer();
    const begun = Promise.withResolvers<void>();
    const call = client.call(
      "code.run",
      { code, context: "lost", stream: true },
      { onBytes: () => begun.resolve() },
    );
    const { params } = await rig.bulk.hears(
      ({ method, params: told }) => method === "code.started" && told["context"] === "lost",
    );
    await begun.promise;
    rig.bulk.link.close(connection, "the client has gone");
    await expect(call.result).rejects.toMatchObject({ data: { code: "Disconnected" } });
    const again = rig.bulk.customer().client;
    const output = new Output();
    const attached = again.call(
      "code.attach",
      { run: String(params["run"]) },
      { onBytes: output.onBytes },
    );
    const { results } = await attached.result;
    expect(results?.map(({ png }) => png)).toEqual(
      Array.from({ length: 3 }, () => ({ channel: 3, bytes: 2_000_008 })),
    );
    const parts = Buffer.concat(output.parts[3]);
    expect([8, 2_000_016, 4_000_024].map((at) => parts[at])).toEqual([0, 1, 2]);
  });

  test("is cancelled is interrupted, and its variables stay", async () => {
    const cancel = new AbortController();
    const { client } = rig.bulk.customer();
    const code = "import time; kept = 1; open('cancelled', 'w'); time.sleep(1000)";
    const call = client.call("code.run", { code, context: "cancelled" }, { signal: cancel.signal });
    const isThere = () =>
      client.ask("files.stat", { path: `${rig.home}/cancelled` }).catch(() => null);
    await expect.poll(isThere).not.toBeNull();
    cancel.abort();
    await expect(call.result).rejects.toMatchObject({ code: -32_800 });
    expect(await run("kept", "cancelled")).toMatchObject({ results: [{ text: "1" }] });
  });

  test("returns a picture of 50 MB is told to use a file, and the context goes on", async () => {
    const code = `from IPython.display import Image
Image(b"\\x89PNG\\r\\n\\x1a\\n" + bytes(50_000_000), format="png")`;
    const { results, stderr } = await run(code);
    expect(results).toMatchObject([{ truncated: true, text: expect.any(String) }]);
    expect(stderr).toContain("Save it to a file");
    expect(await run("1")).toMatchObject({ results: [{ text: "1" }] });
  });

  test("shows very much keeps the beginning, and the answer says so", async () => {
    const { results, truncated } = await run("for n in range(600): display(n)");
    expect([results?.length, truncated]).toEqual([500, true]);
  });

  test("forks has one end, and its child prints and is gone", async () => {
    const forks = "import os\nchild = os.fork()\nprint('child' if child == 0 else 'parent')";
    const { stdout = "" } = await run(forks, "forks");
    expect(stdout).toContain("parent\n");
    expect(await run("os.waitpid(child, 0)[1]", "forks")).toMatchObject({
      results: [{ text: "0" }],
      executionCount: 2,
    });
  });

  test("closes stdout, takes it away or replaces sys can be followed by code that prints", async () => {
    for (const evil of [
      "import sys; sys.stdout.close()",
      "import os; os.close(1); os.close(2)",
      "sys.stdout = sys.stderr = None",
      "sys = None",
      "import builtins; del builtins.print",
    ])
      await run(evil, "closes");
    const prints = "import os, sys; n = os.write(1, b'raw '); sys.stdout.write('still')";
    expect(await run(prints, "closes")).toMatchObject({ stdout: "raw still" });
  });

  test("starts threads that outlive it has their output in the next answer", async () => {
    const code = `import threading, time
turn = threading.Event()
def later():
    turn.wait(); print("from the thread"); turn.clear()
threading.Thread(target=later).start()`;
    await run(code, "threads");
    const joins = "turn.set()\nwhile turn.is_set(): time.sleep(0.01)";
    expect(await run(joins, "threads")).toMatchObject({ stdout: "from the thread\n" });
  });

  test("prints what looks like a message prints it", async () => {
    const message = JSON.stringify({ kind: "done", run: "run_x", executionCount: 9 });
    const { stdout, executionCount } = await run(`print(${JSON.stringify(message)})`, "forges");
    expect([stdout, executionCount]).toEqual([`${message}\n`, 1]);
  });

  test.each([
    ["writes garbage to the kernel's channel", "os.write(901, b'garbage' * 10)"],
    ["announces a message of 4 GiB", "os.write(901, b'\\xff\\xff\\xff\\xff')"],
    ["writes JSON that is no message", "os.write(901, b'\\0\\0\\0\\2{}')"],
    ["closes everything that is open", "os.closerange(3, 4096)"],
  ])("%s loses its kernel and nothing else", async (_name, evil) => {
    await run("import os", "bystander");
    await expect(run(`import os, time; ${evil}; time.sleep(60)`, "evil")).rejects.toMatchObject({
      data: { code: "KernelDied" },
    });
    expect(await run("os.getpid() > 0", "bystander")).toMatchObject({
      results: [{ text: "True" }],
    });
    expect(await run("1", "evil")).toMatchObject({ restarted: expect.stringContaining("channel") });
  });

  test("begins too many contexts is refused, with what to do", async () => {
    const { client } = rig.bulk.customer();
    const names = Array.from({ length: 24 }, (_, index) => `many-${index}`);
    const before = (await client.ask("code.contexts", {})).contexts;
    for (const { context } of before) await client.ask("code.remove", { context });
    for (const context of names) await client.ask("code.run", { code: "1", context });
    await expect(client.ask("code.run", { code: "1", context: "more" })).rejects.toMatchObject({
      message: expect.stringContaining("code.remove"),
    });
    for (const context of names) await client.ask("code.remove", { context });
    expect(await client.ask("code.run", { code: "2" })).toMatchObject({ results: [{ text: "2" }] });
  });
});
