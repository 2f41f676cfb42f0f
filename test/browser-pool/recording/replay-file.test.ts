import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { createLog } from "@svc/host-kit/log.ts";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { recoverReplays } from "../../../browser-pool/recording/recovery.ts";
import { ReplayFile } from "../../../browser-pool/recording/replay-file.ts";

const NOW = 1_800_000_000_000;
const LINE = /^\{"type":3,"n":(\d+)\}$/;
const log = createLog("test", "silent");
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "replay-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** The lines of a file, unpacked as strictly as a web page does it. */
async function linesOf(path: string): Promise<string[]> {
  const bytes = await readFile(path);
  const text = await new Response(
    new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")),
  ).text();
  expect(gunzipSync(bytes).toString()).toBe(text);
  expect(text.endsWith("\n")).toBe(true);
  const lines = text.trimEnd().split("\n");
  for (const line of lines) expect(JSON.parse(line)).toHaveProperty("type");
  return lines;
}

/** The numbers of the lines, which must go on without a gap. */
function numbersOf(lines: string[]): number {
  const numbers = lines.flatMap((line) => LINE.exec(line)?.[1] ?? []).map(Number);
  expect(numbers).toEqual(numbers.map((_, at) => at));
  return numbers.length;
}

async function fill(file: ReplayFile, pieces: number): Promise<void> {
  for (let n = 0; n < pieces * 10; n += 1) {
    file.add(`{"type":3,"n":${n}}`);
    if (n % 10 === 9) await file.flush();
  }
}

test("a replay of many pieces is one gzip stream of whole lines, from its facts to its end", async () => {
  const path = join(folder, "a");
  const file = await ReplayFile.create(path, { version: 1 }, NOW);
  await fill(file, 50);
  expect(await file.finish(NOW + 1)).toEqual({ lines: 502, cut: null });
  const lines = await linesOf(path);
  expect(lines[0]).toContain('"tag":"svc.session","payload":{"version":1}');
  expect(numbersOf(lines)).toBe(500);
  expect(lines.at(-1)).toContain("svc.end");
});

test("a replay whose last lines never came has all that did, and says that it was cut", async () => {
  const path = join(folder, "a");
  const file = await ReplayFile.create(path, { version: 1 }, NOW);
  await fill(file, 50);
  file.add(`{"type":3,"n":500}`);
  const finished = await file.finish(NOW + 1, "a page was busy");
  expect(finished).toEqual({ lines: 503, cut: "a page was busy" });
  const lines = await linesOf(path);
  expect(numbersOf(lines)).toBe(501);
  expect(lines.at(-1)).toContain('"tag":"svc.cut","payload":{"reason":"a page was busy"}');
});

test("a disk that cannot keep up cuts a replay, and takes no more memory for it", async () => {
  const path = join(folder, "a");
  const file = await ReplayFile.create(path, {}, NOW);
  await fill(file, 1);
  const long = JSON.stringify({ type: 2, text: "x".repeat(20 * 1024 * 1024) });
  for (let n = 0; n < 4; n += 1) file.add(long);
  const { cut } = await file.finish(NOW);
  expect(cut).toBe("the disk is too slow");
  expect((await linesOf(path)).at(-1)).toContain(
    'svc.cut","payload":{"reason":"the disk is too slow"',
  );
});

describe.skipIf(process.getuid?.() !== 0)("a full disk", () => {
  let isMounted: boolean;
  beforeEach(() => {
    try {
      const options = ["-t", "tmpfs", "-o", "size=256k", "svc-test", folder];
      execFileSync("mount", options, { stdio: "ignore" });
      isMounted = true;
    } catch {
      isMounted = false;
    }
  });
  afterEach(() => {
    if (isMounted) execFileSync("umount", ["--lazy", folder]);
  });

  test("cuts a replay, which is whole up to there and says so", async (context) => {
    if (!isMounted) context.skip("this user may not mount");
    const path = join(folder, "a");
    const file = await ReplayFile.create(path, {}, NOW);
    await fill(file, 5);
    await writeFile(join(folder, "filler"), Buffer.alloc(1024 * 1024)).catch(() => {});
    // No two bytes alike enough to be packed into what room there is.
    for (let n = 0; n < 64; n += 1) {
      file.add(
        JSON.stringify({
          type: 2,
          text: Buffer.from(crypto.getRandomValues(new Uint8Array(8192))).toString("base64"),
        }),
      );
      await file.flush();
    }
    expect(await file.finish(NOW)).toMatchObject({ cut: "the disk is full" });
    const lines = await linesOf(path);
    expect(numbersOf(lines)).toBe(50);
    expect(lines.at(-1)).toContain('svc.cut","payload":{"reason":"the disk is full"');
  });
});

describe("the draft of a pool that was killed", () => {
  // Closed only at the end of its test: nobody finishes it.
  const opened: ReplayFile[] = [];
  afterEach(async () => {
    for (const file of opened.splice(0)) await file.finish(NOW).catch(() => {});
  });

  /** A draft of 500 lines that nobody has finished, in the folder of an earlier run. */
  async function draft(): Promise<{ from: string; path: string; bytes: Buffer }> {
    const from = join(folder, "run-1");
    await mkdir(from);
    const path = join(from, "org_1~session.part");
    const file = await ReplayFile.create(path, {}, NOW);
    opened.push(file);
    await fill(file, 50);
    const bytes = await readFile(path);
    return { from, path, bytes };
  }

  async function recover(from: string): Promise<string[]> {
    const into = join(folder, "run-2");
    await mkdir(into);
    const [replay] = await recoverReplays(from, into, log);
    expect(replay).toMatchObject({ org: "org_1", session: "session" });
    await expect(readFile(from)).rejects.toMatchObject({ code: "ENOENT" });
    const lines = await linesOf(replay?.path ?? "");
    expect(replay?.lines).toBe(lines.length);
    expect(lines.at(-1)).toContain("svc.cut");
    return lines;
  }

  test("becomes a replay of all that was written", async () => {
    expect(numbersOf(await recover((await draft()).from))).toBe(500);
  });

  test.each([0, 5, 30, 600, 900])("is recovered up to byte %i, where it ends", async (size) => {
    const { from, path } = await draft();
    await truncate(path, size);
    expect(numbersOf(await recover(from))).toBeLessThan(500);
  });

  test.each([0, 3, 300, 700, 1000])("is recovered up to byte %i, which is wrong", async (at) => {
    const { from, path, bytes } = await draft();
    bytes.fill(0xa5, at, at + 40);
    await writeFile(path, bytes);
    const numbers = (await recover(from)).flatMap((line) => LINE.exec(line)?.[1] ?? []);
    expect(numbers.length).toBeLessThanOrEqual(500);
  });
});
