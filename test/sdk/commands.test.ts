// Commands and terminals of the sdk, over a real gateway to a real agent, with connections that are lost.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import {
  CommandError,
  ConnectionError,
  ControlError,
  NotFoundError,
  type Output,
  type Sandbox,
} from "@svc/sdk/index.ts";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { MachineRig } from "./machine-rig.ts";

const WINDOW = 1024 * 1024;
// For a busy computer: the default is a second.
const SOON = { timeout: 60_000 };

let rig: MachineRig;
let box: Sandbox;
beforeAll(async () => void (rig = await MachineRig.start()));
afterAll(() => rig.close());
beforeEach(async () => void (box = await rig.sandbox()));
afterEach(() => {
  rig.cut = null;
  box.close();
});

const said = (pid: number): Promise<string> =>
  readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
const gone = (pid: number): Promise<void> =>
  vi.waitFor(async () => expect(await said(pid)).toBe(""), SOON);

describe("run", () => {
  test("hands arguments on as they are, and a non-zero exit code is no error", async () => {
    const { exitCode, stdout, stderr } = await box.commands.run("printf", [
      "%s|",
      "a b",
      "$HOME;*",
    ]);
    expect({ exitCode, stdout, stderr }).toEqual({
      exitCode: 0,
      stdout: "a b|$HOME;*|",
      stderr: "",
    });
    const failed = await box.commands.sh("echo out; echo err >&2; exit 3", { env: { A: "1" } });
    expect(failed).toEqual({ exitCode: 3, stdout: "out\n", stderr: "err\n" });
  });

  test("takes folder, variables and input, and tells output as it comes", async () => {
    const heard: string[] = [];
    const result = await box.commands.sh("pwd; echo $A; cat", {
      cwd: "/tmp",
      env: { A: "ä" },
      stdin: "from stdin",
      onStdout: (text) => void heard.push(text),
    });
    expect(result.stdout).toBe("/tmp\nä\nfrom stdin");
    expect(heard.join("")).toBe(result.stdout);
  });

  test("throws what was asked to be checked, with the output", async () => {
    const error = await box.commands
      .sh("echo no >&2; exit 2", { check: true })
      .catch((e: unknown) => e);
    expect(error).toBeInstanceOf(CommandError);
    expect(error).toMatchObject({ result: { exitCode: 2, stderr: "no\n" } });
    expect(String(error)).toContain("no");
  });

  test("of a program that is not there ends with 127", async () => {
    expect(await box.commands.run("no-such-program")).toMatchObject({ exitCode: 127 });
  });

  test("is killed at its time and by an abort", async () => {
    expect(await box.commands.run("sleep", ["86401"], { timeoutMs: 50 })).toMatchObject({
      exitCode: 124,
      timedOut: true,
    });
    const abort = new AbortController();
    const reason = new Error("enough");
    const running = box.commands.run("sleep", ["86402"], { signal: abort.signal, tag: "aborted" });
    running.catch(() => {});
    const pid = await vi.waitFor(async () => {
      const one = (await box.commands.list()).find(({ tag }) => tag === "aborted");
      expect(one).toBeDefined();
      return one?.pid ?? 0;
    }, SOON);
    abort.abort(reason);
    await expect(running).rejects.toBe(reason);
    await gone(pid);
  });

  test("goes on over lost connections, each byte once", async () => {
    const before = rig.opened;
    let lines = "";
    let cuts = 0;
    // Once with the first line and once with the third, or later: several lines may come at once.
    const cutTwice = (text: string): void => {
      lines += text;
      if (cuts === 2 || lines.length <= cuts * "1\n2\n".length) return;
      cuts += 1;
      rig.cutAll();
    };
    const script = "for i in 1 2 3 4 5; do echo $i; sleep 0.2; done";
    const { stdout, exitCode } = await box.commands.sh(script, { onStdout: cutTwice });
    expect({ stdout, exitCode }).toEqual({ stdout: "1\n2\n3\n4\n5\n", exitCode: 0 });
    expect(rig.opened).toBeGreaterThan(before + 1);
  });

  test.each(["client", "guest"] as const)(
    "starts one process when the connection is lost with its start (%s)",
    async (from) => {
      const file = join(rig.home, `started-${from}`);
      let id = -1;
      rig.cut = (text, by) => {
        const message = JSON.parse(text) as { id?: number; method?: string };
        if (message.method === "commands.start") id = message.id ?? -1;
        return (
          by === from &&
          (from === "client" ? message.method === "commands.start" : message.id === id)
        );
      };
      const { exitCode } = await box.commands.sh(`echo once >> ${file}`);
      expect(exitCode).toBe(0);
      expect(await readFile(file, "utf8")).toBe("once\n");
    },
  );

  test("goes on when the gateway is started again", async () => {
    const first = box.commands.sh(
      "echo a; sleep 1; while [ ! -e $HOME/go ]; do sleep 0.1; done; echo b",
    );
    await vi.waitFor(async () => expect(await box.commands.list()).not.toEqual([]), SOON);
    await rig.restartGateway();
    expect((await box.commands.sh("touch $HOME/go")).exitCode).toBe(0);
    expect((await first).stdout).toBe("a\nb\n");
  });
});

describe("stream", () => {
  test("hands output on as it comes, and says how the program ended", async () => {
    const stream = box.commands.stream("sh", ["-c", "echo out; echo err >&2; exit 4"]);
    const heard = { stdout: "", stderr: "" };
    let step = await stream.next();
    for (; step.done !== true; step = await stream.next())
      heard[step.value.stream] += step.value.data;
    expect(heard).toEqual({ stdout: "out\n", stderr: "err\n" });
    expect(step.value).toMatchObject({ exitCode: 4 });
  });

  test("that is left kills its program", async () => {
    let pid = 0;
    for await (const { data } of box.commands.stream("sh", ["-c", "echo $$; exec sleep 86403"])) {
      pid = Number(data);
      break;
    }
    expect(pid).toBeGreaterThan(1);
    await gone(pid);
  });

  test("that nobody reads holds the program, not memory", async () => {
    const bytes = 16 * WINDOW;
    const before = rig.streamed;
    const stream = box.commands.stream("head", ["-c", String(bytes), "/dev/zero"]);
    let sum = ((await stream.next()).value as Output).bytes.length;
    await vi.waitFor(() => expect(rig.streamed - before).toBeGreaterThan(WINDOW / 2), SOON);
    // Every answer of these comes behind what the guest could still send.
    for (let calls = 0; calls < 20; calls += 1) await box.commands.list();
    expect(rig.streamed - before).toBeLessThan(2 * WINDOW);
    for await (const got of stream) sum += got.bytes.length;
    expect(sum).toBe(bytes);
  });
});

describe("a process", () => {
  test("is written to, listened to and waited for; another client finds it by its id", async () => {
    const process = await box.commands.start("sh", ["-c", "read a; echo got $a; read b; echo $b"]);
    await process.write("one\n");
    const same = (await rig.sandbox()).commands.connect(process.id);
    await same.write("two\n");
    let text = "";
    for await (const { data } of process.output()) text += data;
    expect(text).toBe("got one\ntwo\n");
    expect(await same.wait()).toEqual({ exitCode: 0 });
    await expect(process.write("more")).rejects.toMatchObject({ code: "NotRunning" });
  });

  test("takes signals, and its end of input", async () => {
    const sleeping = await box.commands.start("sleep", ["86404"]);
    await sleeping.kill("SIGINT");
    expect(await sleeping.wait()).toMatchObject({ exitCode: 130 });
    const cat = await box.commands.start("cat");
    await cat.write("a");
    await cat.endInput();
    expect(await cat.wait()).toEqual({ exitCode: 0 });
    await expect(box.commands.kill("proc_0")).rejects.toMatchObject({ code: "NotFound" });
  });

  test("whose input was lost with its connection says so", async () => {
    const cat = await box.commands.start("cat");
    await cat.write("a");
    rig.cut = (text) => text.includes('"rpc.ping"');
    await expect(cat.write("b")).rejects.toBeInstanceOf(ConnectionError);
    await cat.kill();
    await cat.wait();
  });
});

test("a terminal is typed into, resized and read over a lost connection", async () => {
  const terminal = await box.pty.open({ cols: 90, rows: 30, cmd: "bash", args: ["--norc"] });
  const decoder = new TextDecoder();
  let screen = "";
  const reading = (async () => {
    for await (const bytes of terminal) screen += decoder.decode(bytes, { stream: true });
  })();
  const shows = (text: RegExp): Promise<void> =>
    vi.waitFor(() => expect(screen).toMatch(text), SOON);
  await terminal.write("stty size\n");
  await shows(/30 90/);
  await terminal.resize(100, 40);
  rig.cutAll();
  await vi.waitFor(() => terminal.write("stty size\n"), SOON);
  await shows(/40 100/);
  expect((await box.pty.list()).find(({ id }) => id === terminal.id)).toMatchObject({ cols: 100 });
  await terminal.close();
  await reading;
});

test("a machine that is closed while it is used opens no other socket", async () => {
  const process = await box.commands.start("sleep", ["1000"]);
  const waiting = process.wait();
  const failed = waiting.catch((error: unknown) => error);
  await box.files.stat("/");
  const before = rig.opened;
  box.close();
  expect(await failed).toBeInstanceOf(ConnectionError);
  await vi.waitFor(() => expect(rig.open).toBe(0), SOON);
  expect(rig.opened).toBe(before);
  await box.commands.kill(process.id, "SIGKILL");
});

describe("a machine that is not there", () => {
  test("is told by its record: paused, or unknown", async () => {
    const other = await rig.svc().sandboxes.create();
    await other.commands.run("true");
    await other.pause();
    await expect(other.commands.run("true")).rejects.toMatchObject({ code: "NotRunning" });
    await expect(other.commands.run("true")).rejects.toBeInstanceOf(ControlError);
    await other.resume();
    expect(await other.commands.run("true")).toMatchObject({ exitCode: 0 });
    await other.kill();
    await expect(other.commands.run("true")).rejects.toThrow(/gone/);
    const unknown = await rig.sandbox();
    Object.assign(unknown, { id: "nobody" });
    await expect(rig.svc().sandboxes.kill("nobody")).rejects.toBeInstanceOf(NotFoundError);
  });

  test("a message that is too long is refused here, and costs nobody the connection", async () => {
    const before = rig.opened;
    await box.commands.list();
    await expect(box.commands.sh("x".repeat(2 * WINDOW))).rejects.toMatchObject({
      code: "TooLarge",
    });
    expect(await box.commands.run("true")).toMatchObject({ exitCode: 0 });
    expect(rig.opened).toBe(before + 1);
  });
});
