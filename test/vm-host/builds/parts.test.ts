import { BuildStep } from "@svc/contract/vm/template-steps.ts";
import { TEMPLATE_LIMITS } from "@svc/contract/vm/template-limits.ts";
import { describe, expect, test } from "vitest";
import { as, commandsOf } from "../../../vm-host/builds/commands.ts";
import { BuildLog } from "../../../vm-host/builds/log.ts";
import { planOf, type Setting } from "../../../vm-host/builds/plan.ts";

const NOTHING: Setting = { envs: {}, cwd: undefined, user: undefined };
const run = (cmd: string) => ({ type: "run" as const, cmd });
const keys = (steps: BuildStep[], parent = "base"): string[] =>
  planOf(parent, steps, NOTHING).steps.map(({ key }) => key);

describe("a layer's key", () => {
  test("is that of the same steps, and of what they begin with", () => {
    const steps = [run("a"), run("b")];
    expect(keys(steps)).toEqual(keys([run("a"), run("b")]));
    expect(keys([...steps, run("c")]).slice(0, 2)).toEqual(keys(steps));
    expect(new Set([...keys(steps), ...keys(steps, "other")]).size).toBe(4);
  });

  test.each<[string, BuildStep[]]>([
    ["another step before it", [run("x"), run("b")]],
    ["an environment before it", [{ type: "env", envs: { A: "b" } }, run("b")]],
    ["a user before it", [{ type: "user", name: "w" }, run("b")]],
    ["a folder before it", [{ type: "workdir", path: "/w" }, run("b")]],
    ["another content", [run("a"), { type: "write", path: "/b", content: "" }]],
  ])("is another one with %s", (_name, steps) => {
    expect(keys(steps).at(-1)).not.toBe(keys([run("a"), run("b")]).at(-1));
  });
});

test("what is set holds for the steps after it", () => {
  const { steps, last } = planOf(
    "base",
    [
      { type: "env", envs: { A: "1", B: "1" } },
      { type: "env", envs: { A: "2" } },
      { type: "workdir", path: "/w" },
      { type: "user", name: "w" },
      run("a"),
    ],
    NOTHING,
  );
  expect(steps.map(({ before }) => before.envs)).toEqual([
    {},
    { A: "1", B: "1" },
    ...Array(3).fill({ A: "2", B: "1" }),
  ]);
  expect(steps.map(({ before: { cwd, user } }) => [cwd, user])).toEqual([
    ...Array(3).fill([undefined, undefined]),
    ["/w", undefined],
    ["/w", "w"],
  ]);
  expect(last).toEqual({ envs: { A: "2", B: "1" }, cwd: "/w", user: "w" });
  expect(steps.filter(({ isLight }) => !isLight).map(({ number }) => number)).toEqual([5]);
});

/** The command lines of a step, each as one text. */
const linesOf = (step: Exclude<BuildStep, { type: "write" }>, setting: Partial<Setting> = {}) =>
  commandsOf(step, { ...NOTHING, ...setting }).map(({ cmd, args }) => [cmd, ...args].join(" "));

const AS_W = 'runuser -u w -- bash -c export HOME=~w USER=w LOGNAME=w; exec "$@" bash';

describe("the commands of a step:", () => {
  test("apt is root's, whoever is set, and leaves no lists", () => {
    expect(linesOf({ type: "apt", packages: ["curl", "git=1"] }, { user: "w" })).toEqual([
      "apt-get update --quiet",
      "apt-get install --quiet --yes --no-install-recommends -- curl git=1",
      "apt-get clean",
      "find /var/lib/apt/lists -type f -delete",
    ]);
  });

  test("pip and npm are the user's", () => {
    const pip =
      "python3 -m pip install --no-input --no-cache-dir --break-system-packages -- a>=1 b";
    expect(linesOf({ type: "pip", packages: ["a>=1", "b"] })).toEqual([pip]);
    expect(linesOf({ type: "pip", packages: ["a>=1", "b"] }, { user: "w" })).toEqual([
      `${AS_W} ${pip}`,
    ]);
    const npm = "npm install --no-fund --no-audit";
    expect(linesOf({ type: "npm", packages: ["@a/b@1"] })).toEqual([`${npm} -- @a/b@1`]);
    expect(linesOf({ type: "npm", packages: ["a"], global: true })).toEqual([
      `${npm} --global -- a`,
    ]);
  });

  test("run is the user's unless it names one", () => {
    expect(linesOf(run("a | b"))).toEqual(["bash -c a | b"]);
    expect(linesOf(run("a"), { user: "w" })).toEqual([`${AS_W} bash -c a`]);
    expect(linesOf({ type: "run", cmd: "a", user: "root" }, { user: "w" })).toEqual(["bash -c a"]);
  });

  test("git clones, and goes to a revision where one is named", () => {
    const url = "https://example.com/a.git";
    expect(linesOf({ type: "git", url, path: "/a" })).toEqual([`git clone --quiet -- ${url} /a`]);
    expect(linesOf({ type: "git", url, path: "/a", ref: "v1" })).toEqual([
      `git clone --quiet -- ${url} /a`,
      "git -C /a checkout --quiet v1",
    ]);
  });

  test("environment and folder go with those that are the customer's own", () => {
    const setting = { envs: { A: "b" }, cwd: "/w", user: undefined };
    expect(commandsOf(run("a"), setting)).toMatchObject([{ cwd: "/w", env: { A: "b" } }]);
    const [update] = commandsOf({ type: "apt", packages: ["a"] }, setting);
    expect(update).toMatchObject({ env: { A: "b", DEBIAN_FRONTEND: "noninteractive" } });
    expect(update?.cwd).toBeUndefined();
  });

  test("root needs no other user to be", () => {
    expect(as("root", ["a", "b"])).toEqual({ cmd: "a", args: ["b"] });
    expect(as(undefined, ["a"])).toEqual({ cmd: "a", args: [] });
  });
});

describe("a build's log", () => {
  const written = (log: BuildLog): string[] => log.page(0).entries.map(({ line }) => line);

  test("has the lines of a stream however its bytes come, also the last one without an end", () => {
    const log = new BuildLog();
    const lines = log.lines(1, "stdout");
    const bytes = Buffer.from("one\ntwö\r\n50%\r100%\nlast");
    for (const byte of bytes) lines.bytes(Uint8Array.of(byte));
    lines.end();
    expect(written(log)).toEqual(["one", "twö", "50%", "100%", "last"]);
  });

  test("makes several of a line that is too long, and loses nothing of it", () => {
    const log = new BuildLog();
    const text = "x".repeat(2.5 * TEMPLATE_LIMITS.lineCharacters);
    const lines = log.lines(1, "stdout");
    lines.bytes(Buffer.from(text));
    lines.end();
    expect(written(log).every(({ length }) => length <= TEMPLATE_LIMITS.lineCharacters)).toBe(true);
    expect(written(log).join("")).toBe(text);
  });

  test("keeps the newest, whose places stay what they were", () => {
    const log = new BuildLog();
    const all = TEMPLATE_LIMITS.logLines + 10;
    for (let at = 0; at < all; at += 1) log.write(1, "stdout", String(at));
    const first = log.page(0);
    expect(first.entries[0]?.line).toBe("10");
    expect(first.entries).toHaveLength(TEMPLATE_LIMITS.pageLines);
    expect(first.nextOffset).toBe(10 + TEMPLATE_LIMITS.pageLines);
    expect(log.page(all - 1)).toMatchObject({ entries: [{ line: String(all - 1) }] });
    expect(log.page(all + 5)).toMatchObject({ entries: [], nextOffset: all });
  });

  test("leaves out what programs print too fast, says so, and has the last lines of a command", () => {
    const log = new BuildLog();
    const lines = log.lines(2, "stdout");
    const flood = Buffer.alloc(64 * 1024, "\n");
    const began = performance.now();
    for (let sent = 0; sent < 10 * 1024 * 1024; sent += flood.length) lines.bytes(flood);
    lines.bytes(Buffer.from("why it failed\n"));
    lines.end();
    expect(performance.now() - began).toBeLessThan(5_000);
    const { logLines, logLinesPerSecond } = TEMPLATE_LIMITS;
    // All that a log keeps, and what it takes in five seconds.
    expect(log.end).toBeLessThan(logLines + 6 * logLinesPerSecond);
    const newest = log.page(log.end - 200).entries;
    expect(newest.at(-1)?.line).toBe("why it failed");
    expect(newest.find(({ stream }) => stream === "system")?.line).toMatch(
      /^\d+ lines were left out here: a log takes 1000 a second\.$/,
    );
  });

  test("keeps no more characters than it may, and a page has no more than a page", () => {
    const log = new BuildLog();
    const line = "x".repeat(TEMPLATE_LIMITS.lineCharacters);
    for (let at = 0; at < TEMPLATE_LIMITS.logLines; at += 1) log.write(1, "stdout", line);
    const kept = Math.floor(TEMPLATE_LIMITS.logCharacters / line.length);
    let offset = 0;
    let lines = 0;
    for (;;) {
      const { entries, nextOffset } = log.page(offset);
      if (entries.length === 0) break;
      const characters = entries.reduce((sum, entry) => sum + entry.line.length, 0);
      expect(characters).toBeLessThanOrEqual(TEMPLATE_LIMITS.pageCharacters);
      lines += entries.length;
      offset = nextOffset;
    }
    expect(lines).toBe(kept);
    expect(offset).toBe(TEMPLATE_LIMITS.logLines);
  });

  test("tells those who wait", async () => {
    const log = new BuildLog();
    const news = log.changed(60_000);
    log.write(1, "stdout", "a");
    await news;
    expect(log.end).toBe(1);
  });
});

test("a step with anything more than it has is no step", () => {
  expect(BuildStep.safeParse({ type: "run", cmd: "a", more: 1 }).success).toBe(false);
});
