// Guards the last line of `npm test`, which CI reads: nothing that went wrong counts as passed.
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";

const HEAD = 'import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";';

test.each([
  ["passes", 'test("a", () => {}); test("b", () => {});', "2 passed, 0 failed", 0],
  [
    "a failure",
    'test("a", () => {}); test("b", () => expect(1).toBe(2));',
    "1 passed, 1 failed",
    1,
  ],
  ["a skip", 'test("a", () => {}); test.skip("b", () => {});', "1 passed, 0 failed, 1 skipped", 0],
  ["a todo", 'test("a", () => {}); test.todo("b");', "1 passed, 0 failed, 1 skipped", 0],
  [
    "a skip decided inside the test",
    'test("a", () => {}); test("b", (context) => context.skip("no browser"));',
    "1 passed, 0 failed, 1 skipped",
    0,
  ],
  ["a file that does not load", 'await import("./nowhere.ts");', "0 passed, 1 failed", 1],
  ["a syntax error", "const = ;", "0 passed, 1 failed", 1],
  [
    "a failed beforeAll of a file",
    'beforeAll(() => { throw new Error("x"); }); test("a", () => {}); test("b", () => {});',
    "0 passed, 1 failed, 2 skipped",
    1,
  ],
  [
    "a failed beforeAll of a describe",
    'test("c", () => {}); describe("d", () => { beforeAll(() => { throw new Error("x"); }); test("a", () => {}); });',
    "1 passed, 1 failed, 1 skipped",
    1,
  ],
  [
    "a failed afterAll",
    'afterAll(() => { throw new Error("x"); }); test("a", () => {});',
    "1 passed, 1 failed",
    1,
  ],
  [
    "a failed afterEach",
    'afterEach(() => { throw new Error("x"); }); test("a", () => {});',
    "0 passed, 1 failed",
    1,
  ],
  [
    "an error that no test caught",
    'test("a", () => { setTimeout(() => { throw new Error("x"); }); return new Promise((go) => setTimeout(go, 50)); });',
    "1 passed, 1 failed",
    1,
  ],
  [
    "a floating rejection",
    'test("a", () => { void Promise.reject(new Error("x")); return new Promise((go) => setTimeout(go, 50)); });',
    "1 passed, 1 failed",
    1,
  ],
  ["a file without tests", "export {};", "0 passed, 1 failed", 1],
  ["no file at all", undefined, "0 passed, 1 failed", 1],
])("the tally counts %s", async (_name, body, line, code) => {
  const run = await runOf(body === undefined ? {} : { "a.test.ts": body });
  expect(run.said.at(-1)).toBe(line);
  expect(run.code).toBe(code);
});

test("a run names its ten slowest files before the tally, the slowest first", async () => {
  const lasting = (ms: number) =>
    `test("a", () => new Promise((done) => setTimeout(done, ${ms})), 60_000);`;
  const names = Array.from({ length: 10 }, (_, at) => [`quick-${at}.test.ts`, lasting(0)]);
  const run = await runOf({ ...Object.fromEntries(names), "slow.test.ts": lasting(4_000) });
  const from = run.said.indexOf("Slowest files:") + 1;
  const named = run.said.slice(from, from + 10);
  for (const line of named) expect(line).toMatch(/^ +\d+ s {2}(quick-\d|slow)\.test\.ts$/);
  const seconds = named.map((line) => Number.parseInt(line, 10));
  expect(seconds).toEqual(seconds.toSorted((one, other) => other - one));
  expect(named.join("\n")).toContain("slow.test.ts");
  expect(run.said.slice(from + 10)).toEqual(["", "11 passed, 0 failed"]);
});

/** What a run of these files printed, by line, and its exit code. */
async function runOf(files: Record<string, string>): Promise<{ said: string[]; code: unknown }> {
  const root = mkdtempSync(join(tmpdir(), "svc-tally-"));
  symlinkSync(resolve("node_modules"), join(root, "node_modules"));
  for (const [name, body] of Object.entries(files))
    writeFileSync(join(root, name), `${HEAD}\n${body}`);
  const vitest = resolve("node_modules/vitest/vitest.mjs");
  const reporters = ["--reporter=default", `--reporter=${resolve("scripts/tally.ts")}`];
  const env = { ...process.env, VITEST: undefined, NO_COLOR: "1" };
  const args = [vitest, "run", "--root", root, ...reporters];
  // Not in one go: a test that keeps its own runner waiting for a minute fails the whole run.
  const run = await new Promise<{ said: string; code: unknown }>((done) => {
    execFile(process.execPath, args, { env, cwd: root }, (error, said) =>
      done({ said, code: error?.code ?? 0 }),
    );
  });
  rmSync(root, { recursive: true });
  return { said: run.said.trimEnd().split("\n"), code: run.code };
}
