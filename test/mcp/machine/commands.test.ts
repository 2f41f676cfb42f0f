// svc_exec, svc_run_command_bg and svc_run_code, over a real gateway to a real agent.
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { ownSleep } from "../../guest-agent/rig.ts";
import { MachineRig } from "../../sdk/machine-rig.ts";
import { type Call, callerOf } from "./tool-calls.ts";

const SOON = { timeout: 60_000 };

let rig: MachineRig;
let sessionId = "";
let folder = "";
let call: Call;
beforeAll(async () => {
  rig = await MachineRig.start();
  sessionId = rig.gateway.id;
  call = callerOf(rig.svc());
  folder = await mkdtemp(join(tmpdir(), "svc-mcp-"));
});
afterAll(async () => {
  await rig?.close();
  await rm(folder, { recursive: true, force: true });
});

const exec = (command: string, more: object = {}, signal?: AbortSignal) =>
  call("svc_exec", { sessionId, command, ...more }, signal);
const background = (command: string, more: object = {}) =>
  call("svc_run_command_bg", { sessionId, command, ...more });
const runCode = (code: string, more: object = {}, signal?: AbortSignal) =>
  call("svc_run_code", { sessionId, code, language: "javascript", ...more }, signal);

/** How many processes of this computer have a text in their command. */
const processes = (text: string): Promise<number> =>
  new Promise((resolve) => {
    execFile("pgrep", ["-fc", text], (_error, count) => resolve(Number(count)));
  });

describe("svc_exec", () => {
  test("runs a line of a shell, and a non-zero exit code is no error", async () => {
    const { json } = await exec("echo out; echo err >&2; cat; exit 3 | true; exit 3");
    expect(json).toEqual({
      exitCode: 3,
      timedOut: false,
      stdout: "out\n",
      stderr: "err\n",
      truncated: false,
    });
    expect((await exec("pwd", { cwd: folder })).json.stdout).toBe(`${folder}\n`);
    expect((await exec("pwd", { cwd: `${folder}/none` })).json).toMatchObject({ exitCode: 126 });
  });

  test("keeps head and tail of long output", async () => {
    const { json } = await exec("seq 1 100000", { maxChars: 1_000 });
    expect(json.stdout).toMatch(/^1\n2\n[^]*characters left out[^]*\n99999\n100000\n$/);
    expect(json.stdout.length).toBeLessThan(1_100);
    expect(json).toMatchObject({ exitCode: 0, truncated: true });
    const much = await exec("head -c 20000000 /dev/zero | tr '\\0' x");
    expect(much.json.stdout).toContain(`[… ${20_000_000 - 20_000} characters left out …]`);
  });

  test("kills the command with all that it has started at its time, and tells what came", async () => {
    const [one, other] = [ownSleep(), ownSleep()];
    const { json } = await exec(`echo begun; sleep ${one} & sleep ${other}`, {
      timeoutSeconds: 10,
    });
    expect(json).toMatchObject({ exitCode: 124, timedOut: true, stdout: "begun\n" });
    for (const sleep of [one, other])
      await vi.waitFor(async () => expect(await processes(sleep)).toBe(0), SOON);
  });

  test("is killed when its client cancels the call", async () => {
    const sleep = ownSleep();
    const abort = new AbortController();
    const answer = exec(`sleep ${sleep}`, {}, abort.signal);
    answer.catch(() => {});
    await vi.waitFor(async () => expect(await processes(sleep)).toBeGreaterThan(0), SOON);
    abort.abort(new Error("cancelled by the client"));
    await expect(answer).rejects.toThrow("cancelled by the client");
    await vi.waitFor(async () => expect(await processes(sleep)).toBe(0), SOON);
  });

  test("is killed when the call is cancelled while it starts", async () => {
    const sleep = ownSleep();
    const abort = new AbortController();
    rig.cut = (text, from) => {
      if (from !== "client" || !text.includes("commands.start")) return false;
      abort.abort(new Error("cancelled by the client"));
      return false;
    };
    await expect(exec(`sleep ${sleep}`, {}, abort.signal)).rejects.toThrow("cancelled");
    rig.cut = null;
    await vi.waitFor(async () => expect(await processes(sleep)).toBe(0), SOON);
  });

  test("goes on over a lost connection", async () => {
    rig.cut = (text, from) => from === "guest" && text.includes("exitCode");
    const { json } = await exec("seq 1 5; sleep 0.1; seq 6 9");
    expect(json.stdout).toBe("1\n2\n3\n4\n5\n6\n7\n8\n9\n");
  });

  test("closes its socket at the end, as all tools do", async () => {
    await exec("true");
    await runCode("1");
    await expect(call("svc_read_file", { sessionId, path: "/none" })).rejects.toThrow("/none");
    await vi.waitFor(() => expect(rig.open).toBe(0), SOON);
  });
});

describe("svc_run_command_bg", () => {
  test("tells a command that has ended at once, with its output", async () => {
    const { json } = await background("echo out; echo err >&2; exit 3", { waitSeconds: 60 });
    expect(json).toMatchObject({ running: false, exitCode: 3, output: "out\n\nerr\n" });
    expect(json.stdoutPath).toBe(`/tmp/svc-bg/${json.pid}.out`);
    expect(await readFile(json.stdoutPath, "utf8")).toBe("out\n");
    expect(await readFile(json.exitPath, "utf8")).toBe("3\n");
  });

  test("leaves a command that goes on alone, whose pid ends it", async () => {
    const sleep = ownSleep();
    const { json } = await background(`echo begun; exec sleep ${sleep}`, { waitSeconds: 10 });
    expect(json).toMatchObject({ running: true, output: "begun\n" });
    expect(json).not.toHaveProperty("exitCode");
    expect((await exec(`kill ${json.pid}`)).json.exitCode).toBe(0);
    await vi.waitFor(async () => expect(await readFile(json.exitPath, "utf8")).toBe("143\n"), SOON);
    // The shell that wrote it names the command, and has yet to end.
    await vi.waitFor(async () => expect(await processes(sleep)).toBe(0), SOON);
  });

  test("answers once the port listens", async () => {
    const port = await freePort();
    const server = `require("net").createServer().listen(${port}, "127.0.0.1")`;
    const { json } = await background(`node -e '${server}'`, {
      waitForPort: port,
      waitSeconds: 60,
    });
    expect(json).toMatchObject({ running: true, listening: true });
    await exec(`kill ${json.pid}`);
  });

  test("says that nothing listens, and that somebody listened before", async () => {
    const port = await freePort();
    const none = await background(`exec sleep ${ownSleep()}`, {
      waitForPort: port,
      waitSeconds: 1,
    });
    expect(none.json).toMatchObject({ running: true, listening: false });
    await exec(`kill ${none.json.pid}`);
    const server = createServer().listen(port, "127.0.0.1");
    const taken = await background("false", { waitForPort: port, waitSeconds: 20 });
    expect(taken.json).toMatchObject({ running: false, exitCode: 1, listening: false });
    expect(taken.json.note).toContain("was in use before");
    server.close();
  });

  test("refuses a folder that is not there", async () => {
    const answer = background("true", { cwd: `${folder}/none` });
    await expect(answer).rejects.toMatchObject({ code: "NotStarted" });
    await expect(answer).rejects.toThrow(`${folder}/none`);
  });
});

describe("svc_run_code", () => {
  test("keeps variables, and tells output, values and exceptions", async () => {
    await runCode("x = 41");
    const { json } = await runCode("console.log('out'); console.error('err'); x + 1");
    expect(json).toMatchObject({
      stdout: "out\n",
      stderr: "err\n",
      results: [{ text: "42" }],
      charts: [],
      truncated: false,
    });
    const failed = await runCode("throw new TypeError('no')");
    expect(failed.json.error).toMatchObject({ name: "TypeError", value: "no" });
    const bash = await runCode("echo $((20 + 1)); false", { language: "bash" });
    expect(bash.json).toMatchObject({ stdout: "21\n", exitCode: 1 });
  });

  test("is interrupted at its time, and its variables stay", async () => {
    await runCode("kept = 1");
    const { json } = await runCode("console.log('begun'); for (;;);", { timeoutSeconds: 10 });
    expect(json).toMatchObject({ timedOut: true, stdout: "begun\n" });
    expect(json.error).toBeDefined();
    expect((await runCode("kept")).json.results).toEqual([{ text: "1" }]);
  });

  test("is interrupted when its client cancels the call", async () => {
    const abort = new AbortController();
    const marker = join(folder, "begun");
    const code = `require("fs").writeFileSync(${JSON.stringify(marker)}, ""); for (;;);`;
    const answer = runCode(code, {}, abort.signal);
    answer.catch(() => {});
    await vi.waitFor(() => readFile(marker), SOON);
    abort.abort(new Error("cancelled by the client"));
    await expect(answer).rejects.toThrow("cancelled by the client");
    // The next one has its turn.
    expect((await runCode("2 + 2")).json.results).toEqual([{ text: "4" }]);
  });

  test("clips long output and long values", async () => {
    const { json } = await runCode("console.log('y'.repeat(1e6)); 'z'.repeat(1e5)");
    expect(json.truncated).toBe(true);
    expect(JSON.stringify(json).length).toBeLessThan(45_000);
    expect(json.results[0].text).toContain("characters left out");
  });

  test("knows three languages", async () => {
    await expect(runCode("1", { language: "perl" })).rejects.toThrow(/python/);
  });
});

/** A port that nobody listens on. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === "object" && address ? address.port : 0;
}
