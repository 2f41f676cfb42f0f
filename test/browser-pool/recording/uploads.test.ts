import { access, mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LIMITS } from "@svc/contract/limits.ts";
import { createLog } from "@svc/host-kit/log.ts";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type ReplayStore, Uploads } from "../../../browser-pool/recording/uploads.ts";

const log = createLog("test", "silent");
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "uploads-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** A store that is away for its first calls, and notes what it has got. */
class Store implements ReplayStore {
  readonly stored: string[] = [];
  readonly reports: object[] = [];
  #failures: number;

  constructor(failures = 0) {
    this.#failures = failures;
  }

  async upload({ session }: { session: string }): Promise<void> {
    this.#failures -= 1;
    if (this.#failures >= 0) throw new Error("away");
    this.stored.push(session);
  }

  async report(session: string, report: object): Promise<void> {
    this.reports.push({ session, ...report });
  }
}

async function replay(session: string, bytes = 10) {
  const path = join(folder, `org~${session}.ndjson.gz`);
  await writeFile(path, Buffer.alloc(bytes));
  return { path, org: "org", session, lines: 3 };
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

test("a replay is stored, then reported, then removed from the disk", async () => {
  const store = new Store();
  const uploads = new Uploads(store, log);
  const one = await replay("a", 25);
  await uploads.add(one);
  await expect.poll(() => isThere(one.path)).toBe(false);
  expect(store.reports).toEqual([{ session: "a", state: "ready", sizeBytes: 25, events: 3 }]);
  expect(uploads.size).toBe(0);
});

test("a replay of a store that is away stays on the disk until it is stored", async () => {
  const store = new Store(2);
  const uploads = new Uploads(store, log);
  const one = await replay("a");
  await uploads.add(one);
  expect(await isThere(one.path)).toBe(true);
  await expect.poll(() => store.stored).toEqual(["a"]);
  await expect.poll(() => isThere(one.path)).toBe(false);
});

test("of a store that stays away, replays that the gateway has given up are removed", async () => {
  const uploads = new Uploads(new Store(Infinity), log);
  const old = await replay("old");
  const at = (Date.now() - LIMITS.replayPendingMs) / 1000 - 60;
  await utimes(old.path, at, at);
  const young = await replay("young");
  await uploads.add(old);
  await uploads.add(young);
  await expect.poll(() => isThere(old.path)).toBe(false);
  expect([uploads.size, await isThere(young.path)]).toEqual([1, true]);
  await uploads.close();
});

test("of a store that stays away, the oldest replays make room for later ones", async () => {
  const uploads = new Uploads(new Store(Infinity), log, 250);
  const all = [];
  for (const name of ["a", "b", "c", "d"]) {
    const one = await replay(name, 100);
    all.push(one);
    await uploads.add(one);
    await expect.poll(() => uploads.failed).toBeGreaterThanOrEqual(Math.min(all.length, 2));
  }
  expect(await Promise.all(all.map(({ path }) => isThere(path)))).toEqual([
    false,
    false,
    true,
    true,
  ]);
  await uploads.close();
});

test("replays that are not stored when the pool stops stay for its next start", async () => {
  const uploads = new Uploads(new Store(Infinity), log);
  const one = await replay("a");
  await uploads.add(one);
  await uploads.close();
  expect([uploads.size, await isThere(one.path)]).toEqual([1, true]);
});
