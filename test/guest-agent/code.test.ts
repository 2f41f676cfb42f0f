import type { CodeResult } from "@svc/contract/control-channel/code-methods.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { beginCode, missingPython, runCode } from "./code-rig.ts";
import { AgentRig } from "./rig.ts";

let rig: AgentRig;
beforeAll(async () => void (rig = await AgentRig.start()));
afterAll(() => rig.close());

const run = (code: string, context?: string, more?: { timeoutMs?: number }) =>
  runCode(rig, code, context, more);
const begin = (code: string, context: string, more?: { stream?: boolean }) =>
  beginCode(rig, code, context, more);

const text = (part: unknown): string => (typeof part === "string" ? part : "");

describe.skipIf(missingPython)("code.run", () => {
  test("variables, imports and the working directory stay from run to run", async () => {
    expect(await run("import math\nx = 41")).toMatchObject({ results: [], stdout: "" });
    expect(await run("x + 1")).toMatchObject({ results: [{ text: "42" }], executionCount: 2 });
    await run("import os; os.chdir('/tmp')");
    expect(await run("print(os.getcwd(), math.pi > 3)")).toMatchObject({ stdout: "/tmp True\n" });
  });

  test("top-level await, magics and programs work", async () => {
    const waits = "import asyncio\nawait asyncio.sleep(0.01)\n'done'";
    expect(await run(waits)).toMatchObject({ results: [{ text: "'done'" }] });
    expect(await run("!echo from a program")).toMatchObject({ stdout: "from a program\n" });
    expect(await run("%timeit -n1 -r1 1")).not.toHaveProperty("error");
  });

  test("results have every form in which they can be shown", async () => {
    const shows = `from IPython.display import *
display(HTML("<b>b</b>"), Markdown("# m"), Latex("$x$"), SVG(data="<svg/>"), JSON({"a": [1]}))`;
    const { results = [] } = await run(shows);
    expect(results).toMatchObject([
      { html: "<b>b</b>" },
      { markdown: "# m" },
      { latex: "$x$" },
      { svg: "<svg/>" },
      { json: { a: [1] } },
    ]);
    const jpeg = `import io, PIL.Image
file = io.BytesIO(); PIL.Image.new("RGB", (4, 4)).save(file, "JPEG"); Image(file.getvalue())`;
    const [picture] = (await run(jpeg)).results ?? [];
    expect([...Buffer.from(text(picture?.jpeg), "base64").subarray(0, 2)]).toEqual([0xff, 0xd8]);
  });

  test("a DataFrame is text, html and rows", async () => {
    const frame = `import pandas as pd
pd.DataFrame({"a": [1, 2], "b": ["x", None], "t": pd.to_datetime(["2026-01-01", "2026-01-02"])})`;
    const [result] = (await run(frame)).results ?? [];
    expect(text(result?.html)).toContain("<table");
    expect(result?.table).toEqual({
      columns: ["a", "b", "t"],
      index: [0, 1],
      rows: [
        [1, "x", "2026-01-01T00:00:00.000"],
        [2, null, "2026-01-02T00:00:00.000"],
      ],
      totalRows: 2,
    });
  });

  test("figures are pictures: at show, at the end of a cell, and once", async () => {
    const figure = `import matplotlib.pyplot as plt
plt.plot([1, 2]); plt.show(); print("between")
f = plt.figure(); plt.bar(["a"], [1]); f`;
    const { results = [] } = await run(figure);
    const pictures = results.map(({ png }) =>
      Buffer.from(text(png), "base64").toString("latin1", 1, 4),
    );
    expect(pictures).toEqual(["PNG", "PNG"]);
    expect((await run("1")).results).toHaveLength(1);
  });

  test("errors have a name, a value and a traceback, and the context goes on", async () => {
    const { error, stdout } = await run("print('before')\ndef f(): return 1 / 0\nf()");
    expect(stdout).toBe("before\n");
    expect(error).toMatchObject({ name: "ZeroDivisionError", value: "division by zero" });
    expect(error?.traceback).toContain("1 / 0");
    expect(await run("def f(:")).toMatchObject({ error: { name: "SyntaxError" } });
    const shows = "class A:\n  def __repr__(self): raise ValueError('no')\nA()";
    expect(await run(shows)).toMatchObject({ error: { name: "ValueError", value: "no" } });
    expect(await run("import sys; sys.exit(3)")).toMatchObject({ error: { name: "SystemExit" } });
    expect(await run("x + 1")).toMatchObject({ results: [{ text: "42" }] });
  });

  test("input is refused at once, with what to do", async () => {
    const { error } = await run("input('name? ')");
    expect(error).toMatchObject({ name: "RuntimeError" });
    expect(error?.value).toContain("Put the value into a variable");
  });

  test("output and results come as they are made, in their order", async () => {
    const code = `import time
print("one", end=""); display("a")
while not os.path.exists("${rig.home}/go"): time.sleep(0.01)
print("two"); display("b")`;
    await run("from IPython.display import display; import os", "streams");
    const { output, result, client } = await begin(code, "streams", { stream: true });
    await expect.poll(() => output.stdout.toString()).toBe("one");
    const shown = () =>
      rig.bulk.heard.flatMap(({ method, params }) =>
        method === "code.result" ? [(params["result"] as CodeResult).text] : [],
      );
    await expect.poll(shown).toEqual(["'a'"]);
    client.call("files.write", { path: `${rig.home}/go` }).stream.end(0);
    expect(await result).toMatchObject({ executionCount: 2, context: "streams" });
    expect(output.stdout.toString()).toBe("onetwo\n");
    expect(shown()).toEqual(["'a'", "'b'"]);
  });

  test("runs of one context take turns in order, other contexts go on", async () => {
    const first = await begin("import time\nwhile 'go' not in globals(): time.sleep(0.01)", "one");
    const second = await begin("print('second')", "one");
    const third = await begin("print('third')", "one");
    expect(await run("'other'", "two")).toMatchObject({ results: [{ text: "'other'" }] });
    const { contexts } = await first.client.ask("code.contexts", {});
    expect(contexts.find(({ context }) => context === "one")).toMatchObject({
      running: { run: first.run },
      queued: 2,
    });
    await first.client.ask("code.interrupt", { context: "one" });
    expect(await first.result).toMatchObject({ error: { name: "KeyboardInterrupt" } });
    expect(await second.result).toMatchObject({ stdout: "second\n", executionCount: 2 });
    expect(await third.result).toMatchObject({ stdout: "third\n", executionCount: 3 });
  });

  test("a cell that is interrupted before its first line counts as one", async () => {
    const transformer = `import os, signal
transformers = get_ipython().input_transformers_cleanup
def interrupt(lines):
    transformers.clear()
    os.kill(os.getpid(), signal.SIGINT)
    return lines
transformers.append(interrupt)`;
    expect(await run(transformer, "early")).toMatchObject({ executionCount: 1 });
    expect(await run("1", "early")).toMatchObject({
      executionCount: 2,
      error: { name: "KeyboardInterrupt" },
    });
    expect(await run("1", "early")).toMatchObject({
      executionCount: 3,
      results: [{ text: "1" }],
    });
  });

  test("an interrupt during an import leaves the context whole", async () => {
    const module = `open("slow.py", "w").write("import time; open('begun', 'w'); time.sleep(1000)")
import slow`;
    const { client, result } = await begin(module, "imports");
    await expect
      .poll(() => client.ask("files.stat", { path: `${rig.home}/begun` }).catch(() => null))
      .not.toBeNull();
    await client.ask("code.interrupt", { context: "imports" });
    expect(await result).toMatchObject({ error: { name: "KeyboardInterrupt" } });
    expect(await run("import json; json.dumps([1])", "imports")).toMatchObject({
      results: [{ text: "'[1]'" }],
    });
  });

  test("a run that waits is given up by its cancel, and one too many is refused", async () => {
    const first = await begin("import time; time.sleep(1000)", "waits");
    const cancel = new AbortController();
    const { client } = first;
    const waits = () =>
      client.call("code.run", { code: "1", context: "waits" }, { signal: cancel.signal });
    const runs = Array.from({ length: 64 }, () => waits().result.catch((error: unknown) => error));
    await expect(run("1", "waits")).rejects.toMatchObject({ data: { code: "Busy" } });
    cancel.abort();
    for (const error of await Promise.all(runs)) expect(error).toMatchObject({ code: -32_800 });
    expect((await client.ask("code.contexts", {})).contexts).toContainEqual(
      expect.objectContaining({ context: "waits", queued: 0 }),
    );
    await client.ask("code.interrupt", { context: "waits" });
    expect(await first.result).toMatchObject({ error: { name: "KeyboardInterrupt" } });
  });

  test("a lost connection does not stop a run, and it is attached to again with nothing lost", async () => {
    const code = `import os, time
from IPython.display import display
print("before"); display(1)
while not os.path.exists("${rig.home}/on"): time.sleep(0.01)
print("after"); display(2)`;
    const { output, result, connection, run: id } = await begin(code, "lost", { stream: true });
    await expect.poll(() => output.stdout.toString()).toBe("before\n");
    rig.bulk.link.close(connection, "the client has gone");
    await expect(result).rejects.toMatchObject({ data: { code: "Disconnected" } });
    const { client } = rig.bulk.customer();
    client.call("files.write", { path: `${rig.home}/on` }).stream.end(0);
    const from = output.stdout.length;
    const rest = await client.ask("code.attach", { run: id, from, results: 1 });
    expect(rest).toMatchObject({ stdout: "after\n", results: [{ text: "2" }] });
    const whole = await client.ask("code.attach", { run: id });
    expect(whole).toMatchObject({
      stdout: "before\nafter\n",
      results: [{ text: "1" }, { text: "2" }],
    });
  });

  test("a cell past its time is interrupted and answers with what it has printed", async () => {
    // Its time begins when it is asked for, and a kernel takes a while to start.
    await run("1", "late");
    const late = await run("import time; keep = 1; print('on'); time.sleep(1000)", "late", {
      timeoutMs: 3_000,
    });
    expect(late).toMatchObject({
      timedOut: true,
      stdout: "on\n",
      error: { name: "KeyboardInterrupt" },
    });
    expect(await run("keep", "late")).toMatchObject({ results: [{ text: "1" }] });
  });

  test("cwd and env are the context's", async () => {
    const { client } = rig.bulk.customer();
    await client.ask("code.create", { context: "placed", cwd: "/usr", env: { COLOUR: "blue" } });
    const asks = "import os; print(os.getcwd(), os.environ['COLOUR'], os.environ['GREETING'])";
    expect(await run(asks, "placed")).toMatchObject({ stdout: "/usr blue hello\n" });
    await expect(client.ask("code.create", { context: "placed" })).rejects.toMatchObject({
      data: { code: "AlreadyExists" },
    });
    await client.ask("code.restart", { context: "placed" });
    expect(await run(asks, "placed")).toMatchObject({
      stdout: "/usr blue hello\n",
      executionCount: 1,
    });
    await client.ask("code.remove", { context: "placed" });
    const { contexts } = await client.ask("code.contexts", {});
    expect(contexts.map(({ context }) => context)).not.toContain("placed");
  });

  test("what is asked wrongly is refused by its field", async () => {
    const { client } = rig.bulk.customer();
    const wrong = (params: object) => client.ask("code.run", { code: "1", ...params } as never);
    await expect(wrong({ language: "cobol" })).rejects.toMatchObject({
      data: { field: "language" },
    });
    await expect(wrong({ context: "x".repeat(10_000) })).rejects.toMatchObject({
      code: -32_602,
      data: { field: "context" },
    });
  });
});
