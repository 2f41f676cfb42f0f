// `svc` inside of machines: the program, in a pipe and in a terminal, on a real gateway whose machine has a real agent.
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, readFile, readlink, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { MachineRig } from "../sdk/machine-rig.ts";
import { InTerminal } from "./in-terminal.ts";
import { Svc } from "./svc.ts";

let rig: MachineRig;
let svc: Svc;
let id: string;
/** A folder inside. */
let inside: string;
beforeAll(async () => {
  rig = await MachineRig.start();
  const { gateway, key } = rig.gateway;
  svc = new Svc({ SVC_BASE_URL: gateway.url.origin, SVC_API_KEY: key });
  ({ id } = rig.gateway);
  inside = rig.home;
});
afterAll(() => rig?.close());

const sh = (line: string): string[] => ["sandbox", "exec", id, "--", "sh", "-c", line];

describe("exec", () => {
  test("keeps stdout and stderr apart, and ends as the command does", async () => {
    const ran = await svc.run(sh("echo out; echo err >&2; exit 7"));
    expect(ran).toEqual({ code: 7, stdout: "out\n", stderr: "err\n" });
  });

  test("a command that a signal ends is 128 and its number, one that is not there 127", async () => {
    expect((await svc.run(sh("kill -9 $$"))).code).toBe(137);
    expect((await svc.run(["sandbox", "exec", id, "--", "no-such-program"])).code).toBe(127);
  });

  test("input is piped through, byte for byte, also much of it", async () => {
    const input = new Uint8Array(3_000_000).map((_, at) => (at * 7) & 0xff);
    const { code, stdout } = await svc.run(["sandbox", "exec", id, "--", "sha256sum"], { input });
    const digest = Buffer.from(await crypto.subtle.digest("SHA-256", input)).toString("hex");
    expect([code, stdout]).toEqual([0, `${digest}  -\n`]);
    expect((await svc.run(sh("cat; echo end"), { input: "" })).stdout).toBe("end\n");
    const none = ["sandbox", "exec", id, "-n", "--", "cat"];
    expect(await svc.run(none, { input: "never" })).toMatchObject({ code: 0, stdout: "" });
  });

  test("output comes while the command runs, and Ctrl-C reaches the command, whose end counts", async () => {
    const child = svc.start(
      sh("trap 'echo caught; exit 3' INT; echo begun; while :; do sleep 0.1; done"),
    );
    let text = "";
    child.stdout?.on("data", (part) => (text += String(part)));
    await vi.waitUntil(() => text === "begun\n", { timeout: 60_000 });
    child.kill("SIGINT");
    const code = await new Promise((resolve) => child.on("close", resolve));
    expect([code, text]).toEqual([3, "begun\ncaught\n"]);
  });

  test("a reader that leaves ends it quietly, and the command with it", async () => {
    const mark = join(inside, "runs");
    const line = `touch ${mark}; trap 'rm ${mark}' EXIT; while echo line; do sleep 0.01; done`;
    const child = svc.start(sh(`sh -c "${line}"; rm -f ${mark}`));
    let words = "";
    child.stderr?.on("data", (part) => (words += String(part)));
    child.stdout?.once("data", () => child.stdout?.destroy());
    const code = await new Promise((resolve) => child.on("close", resolve));
    expect([code, words]).toEqual([141, ""]);
    const running = async (): Promise<string> =>
      (await svc.run(sh("pgrep -f 'echo lin[e]' || true"))).stdout;
    await expect.poll(running).toBe("");
  });

  test("input that may be lost with a connection ends the command: it is not left half fed", async () => {
    const file = join(inside, "fed");
    // The first part of the input has come, and the answer that says so is lost.
    rig.cut = (text, from) => from === "client" && text.includes("rpc.ping");
    const { code, stderr } = await svc.run(sh(`cat > ${file}; touch ${file}.done`), {
      input: "part",
    });
    expect([code, stderr]).toEqual([125, expect.stringMatching(/^svc: [^\n]*connection[^\n]*\n$/)]);
    await expect(stat(`${file}.done`)).rejects.toThrow(/ENOENT/);
  });

  test("output goes on over a lost connection, each byte once", async () => {
    const child = svc.start(sh("echo one; read go; echo two"));
    let text = "";
    child.stdout?.on("data", (part) => (text += String(part)));
    await vi.waitUntil(() => text === "one\n", { timeout: 60_000 });
    const { opened } = rig;
    rig.cutAll();
    await vi.waitUntil(() => rig.opened > opened, { timeout: 60_000 });
    child.stdin?.end("go\n");
    const code = await new Promise((resolve) => child.on("close", resolve));
    expect([code, text]).toEqual([0, "one\ntwo\n"]);
  });

  test("as JSON it is one object, and the exit code the same", async () => {
    const { code, stdout } = await svc.run(["--json", ...sh("echo out; exit 4")]);
    expect([code, JSON.parse(stdout)]).toEqual([4, { exitCode: 4, stdout: "out\n", stderr: "" }]);
  });

  test("as JSON, too, Ctrl-C reaches the command, whose end counts", async () => {
    const mark = join(inside, "begun");
    const line = `trap 'echo caught; exit 3' INT; touch ${mark}; while :; do sleep 0.1; done`;
    const child = svc.start(["--json", ...sh(line)]);
    let text = "";
    child.stdout?.on("data", (part) => (text += String(part)));
    await vi.waitUntil(() => existsSync(mark), { timeout: 60_000 });
    child.kill("SIGINT");
    const [code] = await once(child, "close");
    const result = { exitCode: 3, stdout: "caught\n", stderr: "" };
    expect([code, JSON.parse(text || "null")]).toEqual([3, result]);
  });

  test("what cannot be run at all is 125, with the reason in one line", async () => {
    const { code, stdout, stderr } = await svc.run(["sandbox", "exec", "nobody", "--", "true"]);
    expect([code, stdout]).toEqual([125, ""]);
    expect(stderr).toMatch(/^svc: [^\n]+\n$/);
  });

  test("folder and variables are the command's", async () => {
    const how = ["--cwd", inside, "--env", "NAME=it is", "--", "sh", "-c", 'pwd; echo "$NAME"'];
    expect((await svc.run(["sandbox", "exec", id, ...how])).stdout).toBe(`${inside}\nit is\n`);
  });
});

describe("cp", () => {
  test("a file goes in and comes out again, with its permissions", async () => {
    const bytes = Buffer.from(new Uint8Array(2_500_000).map((_, at) => (at * 13) & 0xff));
    const here = join(svc.config, "big.bin");
    await writeFile(here, bytes, { mode: 0o750 });
    await mkdir(join(inside, "in"));
    const put = await svc.json(["sandbox", "cp", here, `${id}:${inside}/in`]);
    expect(put).toEqual({ path: `${inside}/in/big.bin`, bytes: bytes.length });
    expect((await stat(join(inside, "in/big.bin"))).mode & 0o777).toBe(0o750);
    const back = join(svc.config, "back.bin");
    await svc.json(["sandbox", "cp", `${id}:${inside}/in/big.bin`, back]);
    expect(bytes.equals(await readFile(back))).toBe(true);
    expect((await stat(back)).mode & 0o777).toBe(0o750);
  });

  test("stdin and stdout are files too", async () => {
    const path = `${id}:${inside}/from-stdin`;
    expect((await svc.run(["sandbox", "cp", "-", path], { input: "piped\n" })).code).toBe(0);
    expect((await svc.run(["sandbox", "cp", path, "-"])).stdout).toBe("piped\n");
  });

  test("a folder goes in and comes out again: files, folders and links", async () => {
    const here = join(svc.config, "tree");
    await mkdir(join(here, "deep/er"), { recursive: true });
    await writeFile(join(here, "deep/er/text"), "text", { mode: 0o600 });
    await writeFile(join(here, "run.sh"), "#!/bin/sh\n", { mode: 0o755 });
    await symlink("deep/er/text", join(here, "link"));
    await svc.json(["sandbox", "cp", here, `${id}:${inside}/tree-in`]);
    expect(await readFile(join(inside, "tree-in/deep/er/text"), "utf8")).toBe("text");
    const back = join(svc.config, "tree-back");
    await svc.json(["sandbox", "cp", `${id}:${inside}/tree-in`, back]);
    expect(await readFile(join(back, "deep/er/text"), "utf8")).toBe("text");
    expect((await stat(join(back, "run.sh"))).mode & 0o777).toBe(0o755);
    expect(await readlink(join(back, "link"))).toBe("deep/er/text");
  });

  test("a folder above is copied under its own name", async () => {
    const here = join(svc.config, "above/below");
    await mkdir(here, { recursive: true });
    const cwd = here;
    await svc.json(["sandbox", "cp", "..", `${id}:${inside}`], { cwd });
    expect((await stat(join(inside, "above/below"))).isDirectory()).toBe(true);
  });

  test("a link of a machine that leads out of the folder is refused: nothing is written through it", async () => {
    await mkdir(join(inside, "trap"));
    await symlink(svc.config, join(inside, "trap/way-out"));
    const { code, stderr } = await svc.run(["sandbox", "cp", `${id}:${inside}/trap`, "caught"]);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^svc: [^\n]*outside[^\n]*\n$/)]);
  });

  test.each([
    [["here", "there"], 2, "One side"],
    [["an-id:relative", "."], 2, "absolute"],
    [["no-such-file", "ID:/tmp/x"], 2, "no such file"],
    [["ID:/no/such/file", "."], 1, "/no/such/file"],
  ])("cp %j is refused with the reason", async (paths, expected, words) => {
    const args = paths.map((path) => path.replace("ID", id));
    const { code, stderr } = await svc.run(["sandbox", "cp", ...args]);
    expect([code, stderr]).toEqual([expected, expect.stringContaining(words)]);
    expect(stderr).toMatch(/^svc: [^\n]+\n$/);
  });

  test("a copy that breaks off leaves the file that was there, and no other", async () => {
    const here = join(svc.config, "kept");
    await writeFile(here, "kept");
    expect((await svc.run(["sandbox", "cp", `${id}:/proc/self/mem`, here])).code).toBe(1);
    expect(await readFile(here, "utf8")).toBe("kept");
  });
});

test("ls-files shows what is in a folder", async () => {
  await mkdir(join(inside, "shown"));
  await writeFile(join(inside, "shown/a"), "12345", { mode: 0o640 });
  const { stdout } = await svc.run(["sandbox", "ls-files", id, `${inside}/shown`]);
  expect(stdout).toMatch(/^MODE +SIZE +CHANGED +NAME\n-0640 +5 B +\d+s ago +a\n$/);
});

test("logs shows what a process has printed, and with -f all to its end", async () => {
  const box = await rig.sandbox();
  const process = await box.commands.start(
    "sh",
    ["-c", "echo one; echo two >&2; read line; echo $line"],
    {
      tag: "server",
    },
  );
  const shown = await vi.waitUntil(
    async () => {
      const ran = await svc.run(["sandbox", "logs", id, "server"]);
      return ran.stdout && ran.stderr ? ran : null;
    },
    { timeout: 60_000 },
  );
  expect(shown).toEqual({ code: 0, stdout: "one\n", stderr: "two\n" });
  const following = svc.run(["sandbox", "logs", id, process.id, "-f"]);
  await process.write("three\n");
  expect(await following).toEqual({ code: 0, stdout: "one\nthree\n", stderr: "two\n" });
  const all = (await svc.run(["sandbox", "logs", id])).stdout;
  expect(all).toMatch(new RegExp(`${process.id} .*ended with 0`));
  expect((await svc.run(["sandbox", "logs", id, "nobody"])).stderr).toContain("keeps no process");
  box.close();
});

// Python makes the terminal; CI must have it.
const hasPython = process.env.CI || spawnSync("python3", ["--version"]).status === 0;

describe.skipIf(!hasPython)("in a terminal", () => {
  test("shell is a terminal inside: its size, keys as they are, and the exit code of its shell", async () => {
    const shell = new InTerminal(svc, ["sandbox", "shell", id, "--", "sh"], [91, 33]);
    shell.type("stty size\r");
    await shell.shows(/^33 91\r$/m);
    shell.resize(70, 20);
    // The word is not in what is typed, which is shown, too.
    shell.type(`until [ "$(stty size)" = "20 70" ]; do sleep 0.1; done; echo re''sized\r`);
    await shell.shows(/resized/);
    // Ctrl-C ends what runs in there, not this program.
    shell.type(`sh -c 'echo run"n"ing; exec sleep 1000'\r`);
    await shell.shows(/running/);
    shell.type("\u0003");
    shell.type("echo still $((20+1))\r");
    await shell.shows(/still 21/);
    shell.type("exit 5\r");
    expect(await shell.ended()).toBe(5);
  });

  test("without a terminal it is refused, with what does without", async () => {
    const { code, stderr } = await svc.run(["sandbox", "shell", id]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("svc sandbox exec")]);
  });

  test("a big copy has a bar, and ends with how much it was", async () => {
    const here = join(svc.config, "shown.bin");
    await writeFile(here, Buffer.alloc(8_000_000, "svc"));
    const copy = new InTerminal(svc, ["sandbox", "cp", here, `${id}:${inside}/shown.bin`]);
    expect(await copy.ended()).toBe(0);
    expect(copy.text).toMatch(/Copying shown\.bin +\S*━\S* +\d+ % +[\d.]+ [KM]iB of 7\.6 MiB/);
    expect(copy.text).toMatch(/✔\S* +Copying shown\.bin +7\.6 MiB[^\n]*\r\n/);
    expect((await stat(join(inside, "shown.bin"))).size).toBe(8_000_000);
  });
});
