import { readdirSync } from "node:fs";
import { constants, getPriority } from "node:os";
import type { BuildStep } from "@svc/contract/vm/template-steps.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { pidsOf, runs } from "../rig/acts.ts";
import { build, built, drop, follow, lines, made, reportOf } from "../rig/builds.ts";
import { missingMachine } from "../rig/needs.ts";
import { Rig, pathOf } from "../rig/rig.ts";

const MACHINE_MS = 400_000;

const SERVER = "python3 -m http.server 8000 --directory /srv/www";
const STEPS: BuildStep[] = [
  { type: "run", cmd: "mkdir -p /srv/www && echo made in $(pwd) && echo to stderr >&2" },
  { type: "write", path: "/srv/www/hello", content: "aGVsbG8=", encoding: "base64", mode: 0o600 },
];

describe.skipIf(await missingMachine())("template builds", { timeout: MACHINE_MS }, () => {
  let rig: Rig;

  beforeAll(async () => {
    rig = await Rig.start();
    await rig.able();
  }, MACHINE_MS);
  afterAll(() => rig?.stop());

  test("a machine of a template answers on its server's port at once, and goes on where the build ended", async () => {
    const start = { cmd: SERVER, ready: { port: 8000, timeoutMs: 300_000 } };
    const { report, log } = await built(rig, "tpl_server0000000001", STEPS, { start });
    expect(report).toMatchObject({
      state: "ready",
      step: 2,
      got: { cpu: 2, memMb: 512, diskGb: 4 },
    });
    expect(lines(log, "stdout")).toEqual(["1 made in /root"]);
    expect(lines(log, "stderr")[0]).toBe("1 to stderr");
    expect(lines(log, "system")).toEqual([
      `1 run ${STEPS[0]?.type === "run" ? STEPS[0].cmd : ""}`,
      "2 write /srv/www/hello",
      `3 start ${SERVER}`,
      "3 saving",
    ]);
    await runs(rig, 0);
    await rig.gateway.beat((beat) => beat.templates?.includes("tpl_server0000000001") ?? false);
    const placed = await Promise.all(
      ["one", "two"].map((id) => made(rig, id, "tpl_server0000000001")),
    );
    expect(placed.map(({ how }) => how)).toEqual(["fork", "fork"]);
    for (const id of ["one", "two"]) {
      const answer = await rig.call("GET", `${pathOf(id)}/ports/8000/hello`, id);
      expect([answer.status, await answer.text()]).toEqual([200, "hello"]);
    }
    expect(await rig.sh("one", "stat -c '%a %U' /srv/www/hello")).toBe("600 root");
    await Promise.all(["one", "two"].map((id) => rig.delete(id)));
  });

  test("a second build with one more step runs that alone, and one that skips the cache runs all", async () => {
    await built(rig, "tpl_first00000000001", STEPS);
    const more: BuildStep = { type: "run", cmd: "cat /srv/www/hello > /srv/copy; cat /srv/copy" };
    const { report, log } = await built(rig, "tpl_more000000000001", [...STEPS, more]);
    expect(report).toMatchObject({ state: "ready", step: 3 });
    expect(lines(log, "system").slice(0, 2)).toEqual([
      `1 cached: run ${STEPS[0]?.type === "run" ? STEPS[0].cmd : ""}`,
      "2 cached: write /srv/www/hello",
    ]);
    expect(lines(log, "stdout")).toEqual(["3 hello"]);
    const again = await built(rig, "tpl_again00000000001", STEPS, { skipCache: true });
    expect(lines(again.log, "system").join()).not.toContain("cached");
    expect(lines(again.log, "stdout")).toEqual(["1 made in /root"]);
    // Of another org: its layers are its own.
    await made(rig, "more", "tpl_more000000000001");
    expect(await rig.sh("more", "cat /srv/copy")).toBe("hello");
    await rig.delete("more");
  });

  test("environment, folder and user are those of later steps, and of every command of its machines", async () => {
    const steps: BuildStep[] = [
      { type: "env", envs: { COLOUR: "blue", SIZE: "1" } },
      { type: "user", name: "worker" },
      { type: "workdir", path: "/srv/app" },
      { type: "env", envs: { SIZE: "2" } },
      { type: "run", cmd: "echo $COLOUR $SIZE $(pwd) $(id -un) $HOME; touch mine" },
      { type: "run", cmd: "id -un", user: "root" },
      { type: "write", path: "/srv/app/file", content: "x" },
    ];
    const { report, log } = await built(rig, "tpl_defaults00000001", steps);
    expect(report).toMatchObject({ state: "ready" });
    expect(lines(log, "stdout")).toEqual(["5 blue 2 /srv/app worker /home/worker", "6 root"]);
    await rig.place("mine", {
      source: { type: "snapshot", id: "tpl_defaults00000001", recordPath: "" },
      envs: { SIZE: "3" },
    });
    const said = await rig.sh("mine", "echo $COLOUR $SIZE $(pwd) $(id -un) $HOME $USER");
    expect(said).toBe("blue 3 /srv/app worker /home/worker worker");
    expect(await rig.sh("mine", "stat -c '%U' mine file")).toBe("worker\nworker");
    const elsewhere = await rig.exec("mine", "pwd", [], { cwd: "/" });
    expect(elsewhere.stdout.trim()).toBe("/");
    expect(await rig.exec("mine", "nonsense")).toMatchObject({ exitCode: 127 });
    await rig.delete("mine");
    // A template of a template begins with all of it.
    const from = { type: "snapshot", id: "tpl_defaults00000001" } as const;
    const child = await built(
      rig,
      "tpl_child00000000001",
      [{ type: "run", cmd: "echo $COLOUR $(pwd) $(id -un) $(cat file)" }],
      { from },
    );
    expect(lines(child.log, "stdout")).toEqual(["1 blue /srv/app worker x"]);
  });

  test.each<[string, BuildStep[], object, number, RegExp]>([
    [
      "a step that ends badly",
      [
        { type: "run", cmd: "true" },
        { type: "run", cmd: "echo why; exit 3" },
      ],
      {},
      2,
      /^run: it ended with code 3/,
    ],
    [
      "a file that cannot be written",
      [{ type: "write", path: "/proc/nothing", content: "x" }],
      {},
      1,
      /^write: /,
    ],
    [
      "npm without npm",
      [
        { type: "run", cmd: "rm /usr/local/bin/npm" },
        { type: "npm", packages: ["left-pad"] },
      ],
      {},
      2,
      /There is no npm/,
    ],
    [
      "a server that ends",
      [],
      { start: { cmd: "exit 4", ready: { port: 9, timeoutMs: 300_000 } } },
      1,
      /^start: it ended with code 4 before it was ready/,
    ],
    [
      "a server that is never ready",
      [],
      { start: { cmd: "sleep 1000", ready: { cmd: "false", timeoutMs: 1_500 } } },
      1,
      /^start: it was not ready within 1500 ms/,
    ],
  ])(
    "%s fails the build, which says why; nothing of it stays",
    async (_name, steps, rest, step, why) => {
      const id = "tpl_fails00000000001";
      const { report } = await built(rig, id, steps, rest);
      expect(report).toMatchObject({ state: "failed", error: { step } });
      expect(report.error?.message).toMatch(why);
      await runs(rig, 0);
      expect(
        (await rig.put("none", { source: { type: "snapshot", id, recordPath: "" } })).status,
      ).toBe(409);
      expect((await drop(rig, id)).status).toBe(204);
      expect((await rig.call("GET", `/templates/${id}`, id)).status).toBe(404);
    },
  );

  test("a build that is dropped ends at once, with its machine; those that wait begin", async () => {
    await build(rig, "tpl_long000000000001", [{ type: "run", cmd: "echo here; sleep 1000" }]);
    await build(rig, "tpl_next000000000001", [{ type: "run", cmd: "echo next" }]);
    await follow(rig, "tpl_long000000000001", (_report, log) => lines(log).includes("1 here"));
    expect((await reportOf(rig, "tpl_next000000000001")).state).toBe("queued");
    expect((await drop(rig, "tpl_long000000000001")).status).toBe(204);
    const { report, log } = await follow(rig, "tpl_next000000000001");
    expect([report.state, lines(log, "stdout")]).toEqual(["ready", ["1 next"]]);
    await runs(rig, 0);
  });

  test("a build lets all others go first, and machines are made meanwhile", async () => {
    await build(rig, "tpl_yields0000000001", [{ type: "run", cmd: "echo here; sleep 1000" }]);
    await follow(rig, "tpl_yields0000000001", (_report, log) => lines(log).includes("1 here"));
    const [machine] = pidsOf(rig);
    const threads = () => readdirSync(`/proc/${machine}/task`);
    expect(threads().length).toBeGreaterThan(1);
    // Threads come and go: one that has gone has no priority, and all are asked again.
    const priorities = () => new Set(threads().map((thread) => getPriority(Number(thread))));
    await expect.poll(priorities).toEqual(new Set([constants.priority.PRIORITY_LOW]));
    await rig.place("meanwhile");
    expect(await rig.sh("meanwhile", "echo here")).toBe("here");
    await rig.delete("meanwhile");
    await drop(rig, "tpl_yields0000000001");
  });
});
