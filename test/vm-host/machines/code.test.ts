import { Chart } from "@svc/contract/control-channel/chart.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ControlClient, openControlClient } from "../../support/process/control-client.ts";
import { fork, pause, resume, snapshot } from "../rig/acts.ts";
import { missingMachine } from "../rig/needs.ts";
import { Rig } from "../rig/rig.ts";

const MACHINE_MS = 400_000;

describe.skipIf(await missingMachine())("code in a machine", { timeout: MACHINE_MS }, () => {
  let rig: Rig;
  const open: ControlClient[] = [];

  beforeAll(async () => {
    rig = await Rig.start();
    await rig.able();
    await rig.template();
    await rig.place("one", { envs: { COLOUR: "blue" } });
    await rig.place("two");
  }, 2 * MACHINE_MS);
  afterAll(async () => {
    for (const { socket } of open) socket.terminate();
    await rig?.stop();
  });

  const connect = async (id: string) => {
    const { url, headers } = await rig.socket(id);
    const control = await openControlClient(url, headers);
    open.push(control);
    await control.hello;
    return control;
  };
  const run = async (id: string, code: string, more: { language?: "javascript" | "bash" } = {}) => {
    const { client, socket } = await connect(id);
    return client.ask("code.run", { code, ...more }).finally(() => socket.terminate());
  };

  test("a clone's first run has the sandbox's folder and variables, and the libraries loaded", async () => {
    const code = `import os, sys
loaded = [name for name in ("pandas", "matplotlib.pyplot", "numpy") if name in sys.modules]
print(os.getcwd(), os.environ.get("COLOUR"), loaded)`;
    const { stdout, restarted } = await run("one", code);
    expect(stdout).toBe("/root blue ['pandas', 'matplotlib.pyplot', 'numpy']\n");
    expect(restarted).toBeUndefined();
  });

  test("two clones draw different random numbers", async () => {
    const code = "import random, numpy; (random.random(), numpy.random.rand())";
    const one = await run("one", code);
    const two = await run("two", code);
    expect(one.results?.[0]?.text).toEqual(expect.any(String));
    expect(one.results?.[0]?.text).not.toBe(two.results?.[0]?.text);
  });

  test("a chart has its picture and its numbers", async () => {
    const code = `import matplotlib.pyplot as plt
plt.plot([1, 2, 3], [1, 4, 9], label="squares"); plt.title("Größe"); plt.xlabel("n (1)")
None`;
    const { results = [], charts } = await run("one", code);
    // The beginning of a PNG file, in base64.
    expect(results[0]?.png).toMatch(/^iVBORw0KGgo/);
    expect(Chart.parse(results[0]?.chart)).toMatchObject({
      type: "line",
      title: "Größe",
      elements: [
        {
          label: "squares",
          points: [
            [1, 1],
            [2, 4],
            [3, 9],
          ],
        },
      ],
    });
    expect(charts).toHaveLength(1);
  });

  test("JavaScript and bash keep their state", async () => {
    await run("one", "const x = await Promise.resolve(41)", { language: "javascript" });
    expect(await run("one", "x + 1", { language: "javascript" })).toMatchObject({
      results: [{ text: "42" }],
    });
    await run("one", "x=41; cd /usr", { language: "bash" });
    expect(await run("one", "echo $((x + 1)) $PWD $COLOUR", { language: "bash" })).toMatchObject({
      stdout: "42 /usr blue\n",
    });
  });

  test("a pause and a resume leave the variables, and a run under way is attached to again", async () => {
    await run("one", "kept = 'through the pause'");
    const { client, socket } = await connect("one");
    const started = Promise.withResolvers<string>();
    const { url, headers } = await rig.socket("one");
    const other = await openControlClient(url, headers, (method, params) => {
      if (method === "code.started") started.resolve(String(params["run"]));
    });
    open.push(other);
    const code = `import os, time
print("before", flush=True)
while not os.path.exists("/root/go"): time.sleep(0.05)
print("after", kept)`;
    const { result } = other.client.call("code.run", { code, stream: true });
    const lost = result.then(
      () => null,
      (error: unknown) => error,
    );
    const id = await started.promise;
    expect(await client.ask("code.contexts", {})).toMatchObject({
      contexts: [{ running: { run: id } }, {}, {}],
    });
    socket.terminate();
    await pause(rig, "one");
    expect(await lost).toMatchObject({ data: { code: "Disconnected" } });
    await resume(rig, "one");
    await rig.sh("one", "touch /root/go");
    const again = await connect("one");
    expect(await again.client.ask("code.attach", { run: id })).toMatchObject({
      stdout: "before\nafter through the pause\n",
    });
  });

  test("a fork goes on from the same variables", async () => {
    await snapshot(rig, "one", "snap-code");
    await run("one", "kept = 'the parent'");
    await fork(rig, "forked", "snap-code");
    expect(await run("forked", "kept")).toMatchObject({
      results: [{ text: "'through the pause'" }],
    });
    expect(await run("one", "kept")).toMatchObject({ results: [{ text: "'the parent'" }] });
    await rig.delete("forked");
  });

  test("code that waits for itself is interrupted in time, and its variables stay", async () => {
    const { client, socket } = await connect("two");
    // The first error loads the module of tracebacks: a cell has but a moment to end once it is interrupted.
    await run("two", "1 / 0");
    const code =
      "import threading; kept = 1; lock = threading.Lock(); lock.acquire(); lock.acquire()";
    expect(await client.ask("code.run", { code, timeoutMs: 8_000 })).toMatchObject({
      timedOut: true,
      error: {
        name: "KeyboardInterrupt",
        traceback: expect.stringMatching(
          /^Traceback [^<]*<ipython-input[^<]*<module>\n[^<]*lock\.acquire[^<]*KeyboardInterrupt$/,
        ),
      },
    });
    expect(await run("two", "kept")).toMatchObject({ results: [{ text: "1" }] });
    socket.terminate();
  });

  test.each([
    ["exits at once", "import os; os._exit(7)", "exited with code 7"],
    [
      "hears no interrupt",
      "import signal, time; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT]); time.sleep(1000)",
      "did not end within",
    ],
  ])(
    "code that %s loses its kernel, is told why, and the next run begins anew",
    async (_name, code, why) => {
      const { client, socket } = await connect("two");
      await expect(client.ask("code.run", { code, timeoutMs: 10_000 })).rejects.toMatchObject({
        message: expect.stringContaining(why),
        data: { code: "KernelDied" },
      });
      expect(await run("two", "1 + 1")).toMatchObject({
        results: [{ text: "2" }],
        restarted: expect.stringContaining(why),
      });
      socket.terminate();
    },
  );

  test("a kernel that takes all memory is told so, and the next run begins anew", async () => {
    await expect(
      run("two", "hog = [bytes([n % 255 + 1]) * 2 ** 20 for n in range(2000)]"),
    ).rejects.toMatchObject({
      message: expect.stringContaining("killed for memory"),
      data: { code: "KernelDied" },
    });
    expect(await run("two", "1 + 1")).toMatchObject({
      results: [{ text: "2" }],
      restarted: expect.stringContaining("memory"),
    });
  });
});
