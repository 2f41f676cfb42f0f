import type { Language } from "@svc/contract/control-channel/code-methods.ts";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { AgentRig } from "./rig.ts";

let rig: AgentRig;
beforeAll(async () => void (rig = await AgentRig.start()));
afterAll(() => rig.close());

const runIn =
  (language: Language) =>
  (code: string, more: { timeoutMs?: number; cwd?: string; env?: Record<string, string> } = {}) =>
    rig.bulk.customer().client.ask("code.run", { code, language, ...more });

describe("JavaScript", () => {
  const run = runIn("javascript");

  test("variables stay, and may be declared again", async () => {
    expect(await run("const x = 41")).toMatchObject({ results: [], context: "default-javascript" });
    expect(await run("const x = 42; x + 1")).toMatchObject({ results: [{ text: "43" }] });
    const classes = "class A { m() { return { x } } }\nnew A().m()";
    expect(await run(classes)).toMatchObject({ results: [{ text: "{ x: 42 }" }] });
    expect(await run(classes)).not.toHaveProperty("error");
  });

  test("await at the top level, output of both kinds", async () => {
    const code =
      "const y = await new Promise((r) => setTimeout(r, 5, 7));\nconsole.log(y); console.error('e')";
    expect(await run(code)).toMatchObject({ stdout: "7\n", stderr: "e\n", results: [] });
    expect(await run("y")).toMatchObject({ results: [{ text: "7" }] });
  });

  test("imports of its own modules and of what npm installed, by import and by require", async () => {
    const folder = join(rig.home, "node_modules/installed");
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, "package.json"), '{"main":"main.js"}');
    await writeFile(join(folder, "main.js"), "exports.answer = 42;");
    const code = `import { answer } from "installed";
import fs, { readFileSync as read } from "node:fs";
import * as path from "node:path";
[answer, require("installed").answer, read === fs.readFileSync, typeof path.join]`;
    expect(await run(code)).toMatchObject({ results: [{ text: "[ 42, 42, true, 'function' ]" }] });
  });

  test("errors have name, value and traceback, and the context goes on", async () => {
    const { error } = await run("null.nothing");
    expect(error).toMatchObject({
      name: "TypeError",
      traceback: expect.stringContaining("cell.js:1"),
    });
    expect(await run("let [")).toMatchObject({ error: { name: "SyntaxError" } });
    expect(await run("throw 'a text'")).toMatchObject({ error: { value: "'a text'" } });
    expect(await run("await Promise.reject(new RangeError('far'))")).toMatchObject({
      error: { name: "RangeError", value: "far" },
    });
    expect(await run("x")).toMatchObject({ results: [{ text: "42" }] });
  });

  test("shows what a value says of itself", async () => {
    const code = `display({ [Symbol.for("Jupyter.display")]: () => ({
  "text/html": "<b>b</b>", "image/png": Buffer.from("png"), "application/json": { a: [1] } }) });`;
    const { results } = await run(code);
    expect(results).toEqual([{ html: "<b>b</b>", png: "cG5n", json: { a: [1] } }]);
  });

  test("a loop and a wait without end are interrupted, and the variables stay", async () => {
    for (const endless of ["while (true) {}", "await new Promise((r) => setTimeout(r, 1e9))"])
      expect(await run(endless, { timeoutMs: 2_000 })).toMatchObject({
        timedOut: true,
        error: { value: expect.stringContaining("SIGINT") },
      });
    expect(await run("x")).toMatchObject({ results: [{ text: "42" }] });
  });
});

describe("bash", () => {
  const run = runIn("bash");

  test("variables, functions and the working directory stay, an exit code is no error", async () => {
    await run("x=41; f() { echo $((x + 1)); }; cd /usr; declare -A m=([a]=1)");
    expect(await run("f; pwd; echo ${m[a]}")).toMatchObject({
      stdout: "42\n/usr\n1\n",
      exitCode: 0,
    });
    expect(await run("echo e >&2; false")).toMatchObject({ stderr: "e\n", exitCode: 1 });
    expect(await run("if")).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining("syntax"),
    });
  });

  test("cwd and env are the context's from there on", async () => {
    await run("true", { cwd: "/tmp", env: { COLOUR: "it's blue" } });
    expect(await run('echo "$COLOUR"; pwd')).toMatchObject({ stdout: "it's blue\n/tmp\n" });
  });

  test("a program, a loop and a loop of programs are interrupted, and the variables stay", async () => {
    for (const endless of [
      "sleep 1000; echo after",
      "while :; do :; done; echo after",
      "for i in 1 2; do sleep 1000; done; echo after",
    ])
      expect(await run(endless, { timeoutMs: 1_000 })).toMatchObject({
        timedOut: true,
        exitCode: 130,
        stdout: "",
      });
    expect(await run("echo $x")).toMatchObject({ stdout: "41\n" });
  });

  test("a program cannot read what is meant for the kernel, and exit is told", async () => {
    expect(await run("cat; echo end")).toMatchObject({ stdout: "end\n" });
    await expect(run("exit 3")).rejects.toMatchObject({ data: { code: "KernelDied" } });
    expect(await run("echo $x")).toMatchObject({
      stdout: "\n",
      restarted: expect.stringContaining("code 3"),
    });
  });
});

test("a context has one language", async () => {
  const { client } = rig.bulk.customer();
  await client.ask("code.run", { code: "1", language: "bash", context: "mine" });
  await expect(
    client.ask("code.run", { code: "1", language: "javascript", context: "mine" }),
  ).rejects.toMatchObject({ code: -32_602, data: { field: "language" } });
  expect(await client.ask("code.run", { code: "echo mine", context: "mine" })).toMatchObject({
    stdout: "mine\n",
  });
});
