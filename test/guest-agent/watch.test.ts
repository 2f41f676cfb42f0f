import { EventEmitter } from "node:events";
import { type FSWatcher, mkdirSync, readFileSync, readdirSync, watch } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { EventLine } from "../../guest-agent/files/event-line.ts";
import { WATCHED_MAX, countedWatch } from "../../guest-agent/files/watch-limit.ts";
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
  function watches(): number {
    const folder = `/proc/${rig.pid}/fdinfo`;
    const texts = readdirSync(folder).map((fd) => readFileSync(join(folder, fd), "utf8"));
    return texts.join("").match(/^inotify wd/gm)?.length ?? 0;
  }

  test("leaves the agent free meanwhile, tells of every folder, and ends when it is cancelled", async () => {
    const abort = new AbortController();
    const { id, result } = rig.bulk.host.call(
      "files.watch",
      { path: root, recursive: true },
      { signal: abort.signal },
    );
    result.catch(() => null);
    await expect.poll(watches).toBeGreaterThan(0);
    await rig.bulk.host.ask("rpc.ping", {});
    expect(watches()).toBeLessThan(FOLDERS);
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
  test("more folders than the agent watches are refused until others are given back", () => {
    const watchers = Array.from({ length: WATCHED_MAX }, () => new EventEmitter());
    for (const watcher of watchers) countedWatch("/x", () => watching(watcher));
    const more = () => countedWatch("/more", () => watching(new EventEmitter()));
    expect(more).toThrow(expect.objectContaining(tooLarge));
    watchers[0]?.emit("close");
    more().emit("close");
    for (const watcher of watchers.slice(1)) watcher.emit("close");
  });

  test.each(["ENOSPC", "EMFILE"])("%s of the kernel is refused by name", (code) => {
    const begin = () => {
      throw Object.assign(new Error(code), { code });
    };
    expect(() => countedWatch("/x", begin)).toThrow(expect.objectContaining(tooLarge));
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

/** A watcher that only closes. */
function watching(events: EventEmitter): FSWatcher {
  const watcher = watch("/");
  watcher.close();
  watcher.removeAllListeners();
  events.once("close", () => watcher.emit("close"));
  return watcher;
}
