import { rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { RunReader } from "@svc/contract/control-channel/run-reader.ts";
import { SandboxCreated, SandboxResumed } from "@svc/contract/vm/sandbox.ts";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type Said, digested, runCode } from "../support/process/code-client.ts";
import { type ControlClient, openControlClient } from "../support/process/control-client.ts";
import { descendants } from "../support/process/process-tree.ts";
import { RealMachines } from "../support/process/real-machines.ts";
import { otherCache } from "../support/process/vm-cache.ts";
import { VmHostProcess } from "../support/process/vm-host.ts";
import { missingMachine } from "../vm-host/rig/needs.ts";

// Emulated machines on a busy computer: waits are for what happens, these only end what never does.
const PATIENCE = { timeout: 240_000, interval: 500 };
const LONG = 900_000;
const PRINTED_BYTES = 1_000_000_000;
const BLOCK_BYTES = 1_000_000;
const FLAT_MB = 150;

/** Made once: what is said of them takes no time then. */
const PREPARED = `import random, sys, pandas
from IPython.display import display, HTML
picture = b"\\x89PNG\\r\\n\\x1a\\n" + random.Random(1).randbytes(1_000_000)
chart = {"type": "line", "elements": [{"label": "l", "points": [[n, n * n] for n in range(20_000)]}]}
frame = pandas.DataFrame({"a": [1, 2]})`;
/** Output of both kinds, results in parts and small ones, an error. */
const RICH = `print("begin"); print("warning", file=sys.stderr)
display({"image/png": picture, "svc/chart": chart}, raw=True)
print("ö" * 100_000)
display(HTML("<b>b</b>"), frame)
print("end"); 1 / 0`;

/** Of a run: its results come in so many parts, however fast they are read. */
const FEWEST_MESSAGES = 12;

describe.skipIf(await missingMachine())("code over the gateway", { timeout: LONG }, () => {
  let machines: RealMachines;
  let second: VmHostProcess | undefined;
  let made: SandboxCreated;
  const cache = otherCache();

  beforeAll(async () => {
    machines = await RealMachines.start({}, "vm-first");
    made = await vi.waitFor(async () => {
      const answer = await machines.call("/sandboxes", "POST", {});
      return SandboxCreated.parse(await answer.json());
    }, PATIENCE);
  }, LONG);
  afterAll(async () => {
    await second?.close();
    await machines?.close();
    rmSync(cache, { recursive: true });
  });

  const run = (code: string, at?: number): Promise<Said> =>
    runCode(made.controlUrl, { code }, at === undefined ? {} : { at });

  test("a run whose connection is lost with any of its messages says all of it, once", async () => {
    await run(PREPARED);
    const whole = await run(RICH);
    expect(whole).toMatchObject({
      stdout: `begin\n${"ö".repeat(100_000)}\nend\n`,
      stderr: "warning\n",
      answer: { error: { name: "ZeroDivisionError" } },
      connections: 1,
    });
    const [picture, ...small] = whole.results;
    expect(Buffer.from(picture?.png ?? "", "base64")).toHaveLength(1_000_008);
    expect(picture?.chart).toMatchObject({ elements: [{ points: { length: 20_000 } }] });
    expect(small).toMatchObject([{ html: "<b>b</b>" }, { table: { totalRows: 2 } }]);
    // The hello comes first, and the run's id after it: without one there is nothing to go on with.
    let at = 3;
    for (let wasCut = true; wasCut; at += 1) {
      const { stdout, stderr, results, answer, connections } = await run(RICH, at);
      // How many messages a run has depends on how fast its output is read: the last run ends before it is cut.
      wasCut = connections === 2;
      expect({ at, stderr, isWhole: stdout === whole.stdout }).toEqual({
        at,
        stderr: "warning\n",
        isWhole: true,
      });
      expect(digested(results)).toEqual(digested(whole.results));
      expect(answer.error?.name).toBe("ZeroDivisionError");
    }
    expect(at).toBeGreaterThan(FEWEST_MESSAGES);
  });

  test("an answer of one piece has its pictures whole, too", async () => {
    const { client, socket } = await openControlClient(made.controlUrl);

    const reader = new RunReader();
    const call = client.call("code.run", { code: RICH }, { onBytes: reader.bytes });
    reader.begin(call.id);
    const { results = [], charts } = reader.answered(await call.result);
    socket.terminate();
    expect(Buffer.from(results[0]?.png ?? "", "base64")).toHaveLength(1_000_008);
    expect(results).toHaveLength(3);
    expect(charts).toEqual([results[0]?.chart]);
  });

  test("1 GB of output comes whole and in its order, and neither gateway, host nor agent holds it", async () => {
    const gateway = (await descendants(process.pid, "workerd")).map((pid) => pid);
    const agent = async () =>
      Number(
        (await run("!grep VmRSS /proc/$(pgrep -fo agent.mjs)/status")).stdout.match(/\d+/)?.[0],
      ) / 1024;
    const memory = async () => {
      const sizes = [machines.host.pid, ...gateway].map(megabytes);
      return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
    };
    const [before, agentBefore] = [await memory(), await agent()];
    let [bytes, wrong, most] = [0, 0, 0];
    const watching = setInterval(
      () => void memory().then((size) => (most = Math.max(most, size))),
      1_000,
    );
    const code = `for n in range(${PRINTED_BYTES / BLOCK_BYTES}): print(chr(65 + n % 26) * ${BLOCK_BYTES - 1})`;
    await runCode(
      made.controlUrl,
      { code },
      {
        onOutput: (_channel, part) => {
          // The first byte of every frame tells whose block it is, unless it ends one.
          const block = Math.floor(bytes / BLOCK_BYTES);
          if (part[0] !== 65 + (block % 26) && part[0] !== 10) wrong += 1;
          bytes += part.length;
        },
      },
    ).finally(() => clearInterval(watching));
    expect({ bytes, wrong }).toEqual({ bytes: PRINTED_BYTES, wrong: 0 });
    expect(most - before).toBeLessThan(FLAT_MB);
    expect((await agent()) - agentBefore).toBeLessThan(FLAT_MB);
  });

  test("a picture of 50 MB is told to be a file, and the context goes on", async () => {
    const { results, stderr } = await run(`from IPython.display import Image
Image(b"\\x89PNG\\r\\n\\x1a\\n" + bytes(50_000_000), format="png")`);
    expect(results).toMatchObject([{ truncated: true }]);
    expect(stderr).toContain("Save it to a file");
    expect((await run("1")).results).toMatchObject([{ text: "1" }]);
  });

  test("a context and a run under way go on at another host", async () => {
    await run("import numpy; kept = numpy.arange(3)");
    const code = `import os, time
print("before", flush=True)
while not os.path.exists("/root/go"): time.sleep(0.05)
print("after", kept.sum())
kept + 1`;
    const started = Promise.withResolvers<string>();
    const { client, socket } = await openControlClient(made.controlUrl, {}, (method, params) => {
      if (method === "code.started") started.resolve(String(params["run"]));
    });
    const lost = client.call("code.run", { code, stream: true }).result.then(
      () => null,
      (error: unknown) => error,
    );
    const id = await started.promise;
    expect((await machines.call(`/sandboxes/${made.sandboxId}/pause`, "POST")).status).toBe(200);
    socket.terminate();
    expect(await lost).toMatchObject({ data: { code: "Disconnected" } });
    await vi.waitFor(async () => expect(await stored()).toBe(1), PATIENCE);
    await machines.host.kill("SIGKILL");
    second = await VmHostProcess.start(machines.gateway, "vm-second", {
      SVC_CACHE_DIR: cache,
      SVC_WARM_VM: "0",
    });
    const resumed = await vi.waitFor(async () => {
      const answer = await machines.call(`/sandboxes/${made.sandboxId}/resume`, "POST");
      return SandboxResumed.parse(await answer.json());
    }, PATIENCE);
    const there = await patiently(resumed.controlUrl);
    await there.client.ask("commands.run", { cmd: "touch", args: ["/root/go"] });
    expect(await there.client.ask("code.attach", { run: id })).toMatchObject({
      stdout: "before\nafter 3\n",
      results: [{ text: "array([1, 2, 3])" }],
    });
    there.socket.terminate();
    expect((await runCode(resumed.controlUrl, { code: "kept" })).results).toMatchObject([
      { text: "array([0, 1, 2])" },
    ]);
  });

  /** A machine that was moved may need a moment. */
  const patiently = (url: string): Promise<ControlClient> =>
    vi.waitFor(() => openControlClient(url), PATIENCE);

  /** How many records of machines are whole in the object store. */
  async function stored(): Promise<number> {
    const bucket = await machines.gateway.miniflare.getR2Bucket("OBJECTS", "gateway");
    const { objects } = await bucket.list();
    return objects.filter(({ key }) => /rec_|snap_/.test(key) && key.endsWith("/manifest.json"))
      .length;
  }
});

async function megabytes(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) / 1024;
}
