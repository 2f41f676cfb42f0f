import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { AgentRig, identity } from "./rig.ts";

/** A test that goes on for so long has been held by the agent. */
const HELD_MS = 60_000;
/** Its text makes `BACKTRACKING` try every way to part it: longer than anybody lives. */
const TRAP = "a".repeat(60);
const BACKTRACKING = "^(a+)+$";
const TIMED_OUT = { code: -32_801 };

let rig: AgentRig;
let folder: string;
beforeAll(async () => {
  rig = await AgentRig.start();
  folder = join(rig.home, "hostile");
  await mkdir(folder, { recursive: true });
  await writeFile(at("trap"), `${TRAP}!\n`);
});
afterAll(() => rig.close());

const host = () => rig.bulk.host;
const at = (name: string) => join(folder, name);
const unsupported = { code: -32_000, data: { code: "Unsupported", retryable: false } };

/** Threads of the agent. */
const threads = () => readdirSync(`/proc/${rig.pid}/task`).length;

function write(path: string) {
  const call = host().call("files.write", { path });
  void call.stream.write(0, Buffer.from("x")).then(() => call.stream.end(0));
  return call.result;
}

function fifo(name: string): string {
  execFileSync("mkfifo", [at(name)]);
  return at(name);
}

describe("what is no plain file", { timeout: HELD_MS }, () => {
  test("a FIFO is refused to readers and writers, and holds no thread", async () => {
    const path = fifo("fifo");
    // Twice as many as the agent has threads for files.
    for (let round = 0; round < 16; round += 1) {
      await expect(write(path)).rejects.toMatchObject(unsupported);
      await expect(host().ask("files.read", { path })).rejects.toMatchObject(unsupported);
    }
    expect(await write(at("after"))).toEqual({ path: at("after"), bytes: 1 });
  });

  test("a socket and a device are refused, and a FIFO that has a reader", async () => {
    const path = at("socket");
    const server = createServer().listen(path);
    await expect.poll(() => existsSync(path)).toBe(true);
    await expect(write(path)).rejects.toMatchObject(unsupported);
    await expect(host().ask("files.read", { path })).rejects.toMatchObject(unsupported);
    server.close();
    await expect(write("/dev/null")).rejects.toMatchObject(unsupported);
    await expect(host().ask("files.read", { path: "/dev/zero" })).rejects.toMatchObject(
      unsupported,
    );
  });

  test("a search goes past them", async () => {
    await mkdir(at("mixed"));
    fifo("mixed/fifo");
    await writeFile(at("mixed/plain"), "needle\n");
    const { matches } = await host().ask("files.search", { path: at("mixed"), text: "needle" });
    expect(matches).toMatchObject([{ path: at("mixed/plain"), line: 1, column: 1 }]);
  });

  test("the file of the old name is left alone when the agent writes who the machine is", async () => {
    const path = join(rig.folder, "root/etc/hosts.svc-new");
    execFileSync("mkfifo", [path]);
    await rig.connect(Buffer.from("cd".repeat(32), "hex"));
    await rig.identify(identity({ generation: 2, hostname: "sbx-2" }));
    expect(existsSync(path)).toBe(false);
    expect(statSync(join(rig.folder, "root/etc/hosts")).isFile()).toBe(true);
  });
});

describe("a search", { timeout: HELD_MS }, () => {
  const trap = (more: object = {}) =>
    host().ask("files.search", { path: folder, glob: "trap", regex: BACKTRACKING, ...more });

  test("with a pattern that backtracks for ever ends at its time, and the agent answers meanwhile", async () => {
    const before = threads();
    const searches = [1, 2, 3].map(() => trap({ timeoutMs: 3_000 }));
    const ends = Promise.all(searches.map((one) => expect(one).rejects.toMatchObject(TIMED_OUT)));
    expect(await host().ask("files.stat", { path: folder })).toMatchObject({ type: "directory" });
    await ends;
    await expect.poll(threads, { timeout: HELD_MS }).toBeLessThanOrEqual(before);
    const { matches } = await host().ask("files.search", { path: folder, glob: "trap" });
    expect(matches).toEqual([{ path: at("trap") }]);
  });

  test("ends when it is cancelled", async () => {
    const abort = new AbortController();
    const params = { path: folder, glob: "trap", regex: BACKTRACKING };
    const { result } = host().call("files.search", params, { signal: abort.signal });
    result.catch(() => null);
    await host().ask("rpc.ping", {});
    abort.abort();
    await expect(result).rejects.toMatchObject({ code: -32_800 });
  });

  test("with a glob that backtracks ends, too", async () => {
    const name = "a".repeat(250);
    await writeFile(at(name), "");
    const params = { path: folder, glob: `${"*a".repeat(40)}b`, timeoutMs: 3_000 };
    await expect(host().ask("files.search", params)).rejects.toMatchObject(TIMED_OUT);
  });

  test("leaves /proc and /sys out, unless it begins there", async () => {
    const all = await host().ask("files.list", { path: "/", depth: 2, limit: 10_000 });
    const paths = all.entries.map(({ path }) => path);
    expect(paths).toContain("/proc");
    expect(paths.filter((path) => /^.(proc|sys)./.test(path))).toEqual([]);
    const inside = { path: "/proc/self", text: "Threads:", timeoutMs: 30_000 };
    const { matches } = await host().ask("files.search", { ...inside, glob: "status" });
    expect(matches.map(({ path }) => path)).toContain("/proc/self/status");
  });

  test("for a text below /proc ends", async () => {
    const search = host().ask("files.search", { path: "/proc/self", text: "no such", limit: 1 });
    expect(await search).toEqual({ matches: [], truncated: false });
  });

  test("of a missing folder, and with a broken pattern, says what is wrong", async () => {
    const missing = host().ask("files.search", { path: at("missing"), text: "x" });
    await expect(missing).rejects.toMatchObject({ data: { code: "NotFound" } });
    const broken = host().ask("files.search", { path: folder, regex: "(" });
    await expect(broken).rejects.toMatchObject({ code: -32_602, data: { field: "regex" } });
  });
});
