import { EXEC_OUTPUT_BYTES } from "@svc/contract/control-channel/protocol.ts";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { constants } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { explain } from "../../guest-agent/commands/resolve.ts";
import { StartError } from "../../guest-agent/launcher/launcher.ts";
import { descendants } from "../support/process/process-tree.ts";
import { AgentRig, Output, missingCgroups, ownSleep } from "./rig.ts";

let rig: AgentRig;
beforeAll(async () => void (rig = await AgentRig.start()));
afterAll(() => rig.close());

const run = (script: string, more: object = {}) =>
  rig.control.host.ask("commands.run", { cmd: "bash", args: ["-c", script], ...more });

/** One-shot exec, as the host does it for POST /sandboxes/:id/exec. */
async function exec(cmd: string, args: string[], timeoutMs?: number) {
  const output = new Output();
  const params = { cmd, args, ...(timeoutMs && { timeoutMs }) };
  const { result } = rig.control.host.call("commands.exec", params, { onBytes: output.onBytes });
  return { ...(await result), output };
}

/** Resolves when no process below the agent has this text in its command line. */
const gone = (text: string): Promise<void> =>
  expect.poll(() => descendants(rig.pid, text)).toEqual([]);

describe("the end of a command", () => {
  test("its exit code is passed on and is no error", async () => {
    expect(await run("exit 42")).toEqual({ exitCode: 42, stdout: "", stderr: "" });
  });

  test("stdout and stderr are told apart", async () => {
    expect(await run("echo out; echo err >&2")).toMatchObject({ stdout: "out\n", stderr: "err\n" });
  });

  test("a signal is 128 + its number, and named", async () => {
    expect(await run("kill -SEGV $$")).toMatchObject({ exitCode: 139, signal: "SIGSEGV" });
  });

  test("a program that is missing is 127, with a line that says no shell is used", async () => {
    const { exitCode, stderr } = await rig.control.host.ask("commands.run", { cmd: "no-such" });
    expect(exitCode).toBe(127);
    expect(stderr).toMatch(/no-such: command not found\..*No shell is used/);
  });

  test("a whole command line as cmd is a missing program", async () => {
    const { exitCode, output } = await exec("ls -la", []);
    expect(exitCode).toBe(127);
    expect(output.stderr.toString()).toContain("ls -la: command not found");
  });

  test("what is no program is 126", async () => {
    const plain = join(rig.home, "plain");
    await writeFile(plain, "text");
    const lost = join(rig.home, "lost");
    await writeFile(lost, "#!/no/such/interpreter\n");
    await chmod(lost, 0o755);
    for (const cmd of [plain, rig.home, lost])
      expect(await rig.control.host.ask("commands.run", { cmd })).toMatchObject({ exitCode: 126 });
  });

  test.each(["", "a\0b", "a".repeat(5_000)])(
    "what no program can be called is 127",
    async (cmd) => {
      const { exitCode, output } = await exec(cmd, []);
      expect(exitCode).toBe(127);
      expect(output.stderr.toString()).toContain("command not found");
      expect(output.stderr.length).toBeLessThan(1_000);
    },
  );

  test("what no program can be given is 126, and is not cut short", async () => {
    const { exitCode, output } = await exec("echo", ["a\0b"]);
    expect([exitCode, output.stdout.toString()]).toEqual([126, ""]);
    expect(output.stderr.toString()).toContain("NUL");
    expect(
      (await rig.control.host.ask("commands.exec", { cmd: "true", cwd: "/a\0b" })).exitCode,
    ).toBe(126);
  });

  test("an argument that is too long for the kernel is 126, and says so", async () => {
    const { exitCode, output } = await exec("true", ["a".repeat(300_000)]);
    expect(exitCode).toBe(126);
    expect(output.stderr.toString()).toContain("are too long (E2BIG)");
  });

  test.each([
    ["EAGAIN", /as many processes as it may have/],
    ["ENOMEM", /no memory left/],
    ["EMFILE", /too many files are open/],
  ] as const)(
    "a start that the kernel refuses with %s is 126, and says so",
    async (name, words) => {
      const error = new StartError("fork", constants.errno[name]);
      const told = await explain(error, "sh", "/", "/usr/bin:/bin");
      expect(told).toEqual({ exitCode: 126, message: expect.stringMatching(words) });
      expect(told.message).toContain(name);
    },
  );

  test("a folder that is missing is 126", async () => {
    const answer = await run("true", { cwd: "/no/such" });
    expect(answer).toMatchObject({ exitCode: 126, stderr: expect.stringContaining("/no/such") });
  });

  test("past its time it is 124 and its whole tree is gone", async () => {
    const script = "sleep 86401 & (setsid sleep 86401 &) ; sleep 86401";
    expect(await run(script, { timeoutMs: 300 })).toMatchObject({ exitCode: 124, timedOut: true });
    if (!missingCgroups) await gone("86401");
  });

  test("SIGKILL of its own is 137 without a word of memory", async () => {
    expect(await run("kill -KILL $$")).toEqual({
      exitCode: 137,
      signal: "SIGKILL",
      stdout: "",
      stderr: "",
    });
  });
});

describe("what a command gets", () => {
  test("arguments as they are, with no shell between", async () => {
    const args = ["%s|", "a b", "$HOME", "", "*", "'\"\\", "ü\n"];
    const { output } = await exec("printf", args);
    expect(output.stdout.toString()).toBe("a b|$HOME||*|'\"\\|ü\n|");
  });

  test("the session's environment and its own, the own one winning", async () => {
    const { stdout } = await run('echo "$GREETING $OWN $HOME ${SVC_AGENT_HELPER-none}"', {
      env: { OWN: "a=b\nc" },
    });
    expect(stdout).toBe(`hello a=b\nc ${rig.home} none\n`);
    expect((await run("echo $GREETING", { env: { GREETING: "mine" } })).stdout).toBe("mine\n");
  });

  test("whatever its keys are called, also as objects of JavaScript call their own", async () => {
    const names = ["__proto__", "constructor", "prototype", "toString"];
    const env: unknown = JSON.parse(`{${names.map((name) => `"${name}":"${name}!"`).join(",")}}`);
    const { stdout } = await run(`echo ${names.map((name) => `$${name}`).join(" ")}`, { env });
    expect(stdout).toBe(`${names.map((name) => `${name}!`).join(" ")}\n`);
  });

  test("its folder, absolute or from the home folder", async () => {
    await mkdir(join(rig.home, "sub"), { recursive: true });
    expect((await run("pwd", { cwd: join(rig.home, "sub") })).stdout).toBe(`${rig.home}/sub\n`);
    expect((await run("pwd", { cwd: "sub" })).stdout).toBe(`${rig.home}/sub\n`);
  });

  test("no input at all when none is given: nothing waits for it", async () => {
    expect((await exec("cat", [])).exitCode).toBe(0);
  });

  test("no open file but the three", async () => {
    expect((await run("ls /proc/self/fd | wc -l")).stdout).toBe("4\n");
  });

  test("outputs that can be opened by name", async () => {
    const { stdout, stderr } = await run("echo a > /dev/stdout; echo b > /dev/stderr");
    expect([stdout, stderr]).toEqual(["a\n", "b\n"]);
  });

  test("a text as its input, to the end", async () => {
    const stdin = "é\n".repeat(100_000);
    expect((await run("wc -c", { stdin })).stdout).toBe("300000\n");
    expect((await run("cat", { stdin: "" })).exitCode).toBe(0);
  });

  test("a heredoc in its script", async () => {
    expect((await run("cat <<END\none $GREETING\nEND")).stdout).toBe("one hello\n");
  });

  test("input that nobody reads does not hurt", async () => {
    expect(await run("exit 5", { stdin: "x".repeat(500_000) })).toMatchObject({ exitCode: 5 });
  });
});

describe("output", () => {
  test("a character across the edge of two writes stays whole", async () => {
    const script = String.raw`printf '\xc3'; read -t 0.05 < <(:); printf '\xa9\xe2\x82'; printf '\xac'`;
    expect((await run(script)).stdout).toBe("é€");
  });

  test("bytes that are no text survive in exec and are marked in an answer", async () => {
    const script = String.raw`printf '\x00\xff\xfe\x0a'`;
    const { output } = await exec("bash", ["-c", script]);
    expect([...output.stdout]).toEqual([0, 255, 254, 10]);
    expect((await run(script)).stdout).toBe("\0\ufffd\ufffd\n");
  });

  test("an answer keeps 256 KiB, whole characters, and says that it is cut", async () => {
    const answer = await run("head -c 300001 /dev/zero | tr '\\0' a; echo done >&2");
    expect(answer).toMatchObject({ exitCode: 0, truncated: true, stderr: "done\n" });
    expect(answer.stdout).toHaveLength(256 * 1024);
    const wide = await run("yes é | tr -d '\\n' | head -c 400001");
    expect(wide.stdout).toBe("é".repeat(128 * 1024));
  });

  test("an answer full of control characters still fits a message", async () => {
    const answer = await run("head -c 262144 /dev/zero; head -c 262144 /dev/zero >&2");
    expect(answer.truncated).toBe(true);
    expect(JSON.stringify(answer).length).toBeLessThan(1024 * 1024);
  });

  test("exec keeps 8 MiB of each stream, and the command runs on to its end", async () => {
    const mark = join(rig.home, "ran-on");
    const script = `head -c 9000000 /dev/zero; head -c 100 /dev/zero >&2; echo > ${mark}; exit 3`;
    const { exitCode, truncated, output } = await exec("bash", ["-c", script]);
    expect({ exitCode, truncated }).toEqual({ exitCode: 3, truncated: true });
    expect(output.stdout).toHaveLength(EXEC_OUTPUT_BYTES);
    expect(output.stderr).toHaveLength(100);
    expect((await run(`test -e ${mark}`)).exitCode).toBe(0);
  });

  test("everything a command has written before its end is there", async () => {
    for (let count = 0; count < 50; count += 1) {
      const { output } = await exec("bash", ["-c", "head -c 60000 /dev/zero; echo -n x >&2"]);
      expect([output.stdout.length, output.stderr.length]).toEqual([60_000, 1]);
    }
  });
});

describe("what a command leaves", () => {
  test("a child in the background neither holds the answer nor dies of it", async () => {
    const mark = join(rig.home, "background");
    const fifo = join(rig.home, "go");
    await run(`mkfifo ${fifo}`);
    const sleep = `sleep ${ownSleep()}`;
    const child = `(read < ${fifo}; echo loud; echo > ${mark}; exec ${sleep}) &`;
    expect(await run(`${child} echo first`)).toMatchObject({ exitCode: 0, stdout: "first\n" });
    await run(`echo go > ${fifo}; until test -e ${mark}; do :; done`);
    await expect.poll(() => descendants(rig.pid, sleep)).toHaveLength(1);
    await run(`pkill -f '[s]${sleep.slice(1)}'`);
    await gone(sleep);
  });

  test("1,000 short commands leave no zombie and no cgroup", async () => {
    const many = Array.from({ length: 20 }, async () => {
      for (let count = 0; count < 50; count += 1) {
        const { exitCode } = await exec("bash", ["-c", "(true &) ; exit 7"]);
        expect(exitCode).toBe(7);
      }
    });
    await Promise.all(many);
    // What ended last is reaped a moment later.
    const zombies = async () => {
      const { stdout } = await run("ps -e -o ppid=,stat=");
      const ours = new Set([rig.pid, ...(await descendants(rig.pid))].map(String));
      const rows = (stdout ?? "").split("\n").map((row) => row.trim().split(/\s+/));
      return rows.filter(([parent = "", state]) => ours.has(parent) && state?.startsWith("Z"));
    };
    await expect.poll(zombies).toEqual([]);
    // Its own, and one whose last process may be dying.
    const groups = async () =>
      Number((await run(`ls -d ${rig.cgroup}/svc-work/*/ | wc -l`)).stdout);
    await expect.poll(groups).toBeLessThanOrEqual(2);
  });
});
