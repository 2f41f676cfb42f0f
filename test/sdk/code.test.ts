// Code of the sdk, over a real gateway to a real agent: results and output are whole whatever connections do.
import { type CodeResult, ConnectionError, type Sandbox } from "@svc/sdk/index.ts";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { missingPython } from "../guest-agent/code-rig.ts";
import { MachineRig } from "./machine-rig.ts";

let rig: MachineRig;
let box: Sandbox;
beforeAll(async () => void (rig = await MachineRig.start()));
afterAll(() => rig.close());
beforeEach(async () => void (box = await rig.sandbox()));
afterEach(() => {
  rig.cut = null;
  box.close();
});

test("variables stay from run to run, output and exceptions are told and not thrown", async () => {
  const language = "javascript";
  await box.code.run("x = 41", { language });
  const heard: string[] = [];
  const answer = await box.code.run("console.log('out'); console.error('err'); x + 1", {
    language,
    onStdout: (text) => void heard.push(text),
  });
  expect(answer).toMatchObject({ stdout: "out\n", stderr: "err\n", results: [{ text: "42" }] });
  expect(heard.join("")).toBe("out\n");
  const failed = await box.code.run("throw new TypeError('no')", { language });
  expect(failed.error).toMatchObject({ name: "TypeError", value: "no" });
});

test("contexts are made, listed, interrupted, begun anew and removed", async () => {
  await box.code.create("mine", { language: "bash", env: { A: "1" } });
  expect(await box.code.run("echo $A; false", { context: "mine" })).toMatchObject({
    stdout: "1\n",
    exitCode: 1,
  });
  expect((await box.code.contexts()).contexts).toContainEqual(
    expect.objectContaining({ context: "mine", language: "bash" }),
  );
  const endless = box.code.run("while :; do sleep 0.1; done", { context: "mine", timeoutMs: 300 });
  expect(await endless).toMatchObject({ timedOut: true });
  await box.code.restart("mine");
  await box.code.remove("mine");
  expect((await box.code.contexts()).contexts.map(({ context }) => context)).not.toContain("mine");
  await expect(box.code.interrupt("mine")).rejects.toMatchObject({ name: "ControlError" });
});

test("a run that is aborted is interrupted, and its context goes on", async () => {
  const language = "bash";
  const abort = new AbortController();
  const reason = new Error("enough");
  const running = box.code.run("kept=1; echo begun; while :; do sleep 0.1; done", {
    language,
    signal: abort.signal,
    onStdout: () => abort.abort(reason),
  });
  await expect(running).rejects.toBe(reason);
  expect(await box.code.run("echo $kept", { language })).toMatchObject({ stdout: "1\n" });
});

test("a run whose connection is lost before its id came is not run twice", async () => {
  rig.cut = (text) => text.includes('"code.started"');
  const running = box.code.run("count=$((count + 1))", { language: "bash", context: "once" });
  await expect(running).rejects.toBeInstanceOf(ConnectionError);
  const { stdout } = await box.code.run("echo $count", { language: "bash", context: "once" });
  expect(stdout).toBe("1\n");
});

const RICH = `for (const n of [1, 2, 3]) {
  console.log("line " + n);
  display({ [Symbol.for("Jupyter.display")]: () => ({
    "text/html": "<b>" + "ä".repeat(300000 * n) + "</b>", "image/png": Buffer.alloc(700000, n).toString("base64"),
  }) });
}
console.log("end")`;

test("a run with results in parts is whole, whichever of its messages the connection is lost with", async () => {
  const run = async (at?: number) => {
    let messages = 0;
    if (at !== undefined) rig.cut = (_text, from) => from === "guest" && (messages += 1) === at;
    const told: CodeResult[] = [];
    const onResult = (result: CodeResult): void => void told.push(result);
    const { stdout, results, error } = await box.code.run(RICH, {
      language: "javascript",
      onResult,
    });
    return { stdout, results, told, error };
  };
  const whole = await run();
  expect(whole.stdout).toBe("line 1\nline 2\nline 3\nend\n");
  expect(whole.results.map(({ html }) => html?.length)).toEqual([300_007, 600_007, 900_007]);
  expect(whole.told).toEqual(whole.results);
  // 1 is the hello, 2 tells the run's id.
  for (const at of [3, 4, 5, 6]) expect(await run(at)).toEqual(whole);
});

test.skipIf(missingPython)("charts of Python come as numbers beside their pictures", async () => {
  const code =
    "import matplotlib.pyplot as plt\nplt.plot([1, 2], [3, 4])\nplt.title('t')\nplt.show()";
  const { results, charts } = await box.code.run(code);
  expect(charts).toMatchObject([{ type: "line", title: "t" }]);
  expect(results[0]?.png).toMatch(/^iVBOR/);
});
