import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { EventLine } from "../../guest-agent/files/event-line.ts";
import {
  WATCHED_MAX,
  type WatchedFolder,
  heardAll,
  unwatchFolder,
  watchFolder,
} from "../../guest-agent/files/inotify.ts";
import { AgentRig } from "./rig.ts";

const WIDE = 30;
/** 9,000 at the lowest level. */
const FOLDERS = WIDE + WIDE * WIDE + WIDE * WIDE * 10;
const PATIENCE_MS = 60_000;
const tooLarge = { code: -32_000, data: { code: "TooLarge", retryable: false } };

describe("a watch of 9,000 folders", { timeout: 2 * PATIENCE_MS }, () => {
  let rig: AgentRig;
  let root: string;
  beforeAll(async () => {
    rig = await AgentRig.start();
    root = join(rig.home, "tree");
    for (let count = 0; count < WIDE * WIDE * 10; count += 1) {
      const [one, two, three] = [count % WIDE, Math.floor(count / WIDE) % WIDE, count];
      mkdirSync(join(root, `${one}/${two}/${three}`), { recursive: true });
    }
  }, PATIENCE_MS);
  afterAll(() => rig.close());

  /** What the kernel watches for the agent. */
  const watches = (): number => watchesOf(rig.pid);

  test("leaves the agent free meanwhile, tells of every folder, and ends when it is cancelled", async () => {
    const abort = new AbortController();
    const { id, result } = rig.bulk.host.call(
      "files.watch",
      { path: root, recursive: true },
      { signal: abort.signal },
    );
    result.catch(() => null);
    // The program that watches stands still in the middle of it, so that the agent is asked in the middle, too.
    const isHeld = (): boolean => {
      const held = watcherOf(rig.pid);
      if (held !== undefined) process.kill(held, "SIGSTOP");
      return held !== undefined;
    };
    await expect.poll(isHeld).toBe(true);
    await rig.bulk.host.ask("rpc.ping", {});
    expect(watches()).toBeLessThan(FOLDERS);
    process.kill(watcherOf(rig.pid) ?? 0, "SIGCONT");
    await expect.poll(watches, { timeout: PATIENCE_MS }).toBe(FOLDERS + 1);
    for (const place of ["0/0/0", `${WIDE - 1}/${WIDE - 1}/8999`]) {
      const path = join(root, place, "file");
      await writeFile(path, "");
      await rig.bulk.hears(({ params }) => params["id"] === id && params["path"] === path);
    }
    abort.abort();
    await expect(result).rejects.toMatchObject({ code: -32_800 });
    await expect.poll(watches, { timeout: PATIENCE_MS }).toBe(0);
  });

  test("that is cancelled while it grows leaves nothing behind", async () => {
    const abort = new AbortController();
    const params = { path: root, recursive: true };
    const { result } = rig.bulk.host.call("files.watch", params, { signal: abort.signal });
    result.catch(() => null);
    await expect.poll(watches).toBeGreaterThan(0);
    abort.abort();
    await expect(result).rejects.toMatchObject({ code: -32_800 });
    await expect.poll(watches, { timeout: PATIENCE_MS }).toBe(0);
  });
});

describe("limits of watching", () => {
  const nobody = { lostEvents: () => {}, failed: () => {} };
  const folder = (): WatchedFolder => ({ watcher: nobody, heard: () => {} });

  test("more folders than the agent watches are refused until others are given back", async () => {
    const folders = Array.from({ length: WATCHED_MAX }, folder);
    const numbers = await Promise.all(folders.map((one) => watchFolder(tmpdir(), one)));
    const [first = folder()] = folders;
    const [number = 0] = numbers;
    expect(new Set(numbers)).toEqual(new Set([number]));
    await expect(watchFolder(tmpdir(), folder())).rejects.toMatchObject(tooLarge);
    unwatchFolder(number, first);
    expect(await watchFolder(tmpdir(), first)).toBe(number);
    for (const one of folders) unwatchFolder(number, one);
  });

  test("a folder that is watched twice counts once, and a failed watch not at all", async () => {
    const one = folder();
    for (let round = 0; round < 3; round += 1) {
      const number = await watchFolder(tmpdir(), one);
      await expect(watchFolder("/there/is/none", folder())).rejects.toMatchObject({
        code: "ENOENT",
      });
      if (round === 2) unwatchFolder(number, one);
    }
    await expect.poll(() => watchesOf(process.pid)).toBe(0);
    const folders = Array.from({ length: WATCHED_MAX }, folder);
    const [number = 0] = await Promise.all(folders.map((some) => watchFolder(tmpdir(), some)));
    for (const some of folders) unwatchFolder(number, some);
  });

  test("a watch that is given back while another begins leaves the other alone", async () => {
    const home = mkdtempSync(join(tmpdir(), "svc-watch-"));
    onTestFinished(() => rmSync(home, { recursive: true }));
    const heard: string[] = [];
    const [left, kept] = [
      folder(),
      { watcher: nobody, heard: ({ name }: { name: string }) => heard.push(name) },
    ];
    const number = await watchFolder(home, left);
    const begun = watchFolder(home, kept);
    unwatchFolder(number, left);
    expect(await begun).toBe(number);
    writeFileSync(join(home, "file"), "");
    await heardAll();
    expect(heard).toContain("file");
    unwatchFolder(number, kept);
  });

  test("events that nobody can tell in time are dropped, which is told once in their place", async () => {
    const told: string[] = [];
    const line = new EventLine(() => told.push("overflow"));
    const end = Promise.withResolvers<void>();
    for (let count = 0; count < 30_000; count += 1)
      line.add(async () => void told.push(String(count)));
    // Waits behind all that was taken, as soon as there is room again.
    await new Promise(setImmediate);
    line.add(async () => end.resolve());
    await end.promise;
    expect(told).toHaveLength(10_001);
    expect(told.at(-1)).toBe("overflow");
  });
});

/** What the kernel watches for an agent: its program that watches is a child of it. */
const watchesOf = (pid: number): number =>
  childrenOf(pid).reduce((sum, child) => sum + watchesIn(child), 0);

/** The program that watches for an agent. */
const watcherOf = (pid: number): number | undefined =>
  childrenOf(pid)
    .filter((child) => watchesIn(child) > 0)
    .map(Number)[0];

const childrenOf = (pid: number): string[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean);

function watchesIn(pid: string): number {
  try {
    if (readFileSync(`/proc/${pid}/cmdline`, "utf8").replace(/\0+$/, "") !== "svc-watch") return 0;
    const folder = `/proc/${pid}/fdinfo`;
    const texts = readdirSync(folder).map((fd) => readFileSync(join(folder, fd), "utf8"));
    return texts.join("").match(/^inotify wd/gm)?.length ?? 0;
  } catch {
    // It has ended.
    return 0;
  }
}
