import { execFileSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { RequestContext } from "@svc/contract/control-channel/rpc-server.ts";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { writeFile } from "../../guest-agent/files/transfer.ts";
import { AgentRig } from "./rig.ts";

const isRoot = process.getuid?.() === 0;
const MIB = 1024 * 1024;

let rig: AgentRig;
beforeAll(async () => void (rig = await AgentRig.start()));
afterAll(() => rig.close());

const host = () => rig.bulk.host;
const refused = (code: string, words: RegExp) => ({
  code: -32_000,
  message: expect.stringMatching(words),
  data: { code, retryable: false },
});

function write(path: string, bytes: Uint8Array, more: { mode?: number; append?: boolean } = {}) {
  const call = host().call("files.write", { path, ...more });
  void call.stream.write(0, bytes).then(() => call.stream.end(0));
  return call.result;
}

/** A folder of the test, empty. */
function folderOf(name: string): string {
  const folder = join(rig.home, name);
  mkdirSync(folder, { recursive: true });
  return folder;
}

function mounted(name: string, options: string): string {
  const folder = folderOf(name);
  execFileSync("mount", ["-t", "tmpfs", "-o", options, "svc-test", folder]);
  onTestFinished(() => void execFileSync("umount", ["--lazy", folder]));
  return folder;
}

/** Begins a write and cancels it once its first bytes are at the agent. */
async function cancelled(path: string, more: { append?: boolean } = {}): Promise<void> {
  const abort = new AbortController();
  const options = { signal: abort.signal };
  const { result, stream } = host().call("files.write", { path, ...more }, options);
  result.catch(() => null);
  // More than one window: the agent has taken some of it.
  await stream.write(0, Buffer.alloc(2 * MIB, "n"));
  abort.abort();
  await expect(result).rejects.toMatchObject({ code: -32_800 });
}

describe("a write that fails leaves the old content, and nothing beside", () => {
  test("when it is cancelled half way", async () => {
    const folder = folderOf("cancelled");
    const path = join(folder, "kept");
    writeFileSync(path, "old");
    await cancelled(path);
    await cancelled(join(folder, "never"));
    await expect.poll(() => readdirSync(folder)).toEqual(["kept"]);
    expect(readFileSync(path, "utf8")).toBe("old");
  });

  test("when it was to append", async () => {
    const path = join(folderOf("appended"), "log");
    writeFileSync(path, "old");
    await cancelled(path, { append: true });
    await expect.poll(() => readFileSync(path, "utf8")).toBe("old");
  });

  test("when bytes still come after it was cancelled", async () => {
    const path = join(folderOf("late"), "log");
    writeFileSync(path, "old");
    const abort = new AbortController();
    let take: (channel: number, part: Uint8Array) => unknown = () => {};
    const stream = { onBytes: (listener: typeof take) => void (take = listener) };
    const context = { stream, signal: abort.signal } as unknown as RequestContext;
    let isOver = false;
    const writing = writeFile({ path, append: true }, context).finally(() => (isOver = true));
    writing.catch(() => null);
    for (let parts = 0; !isOver; parts += 1) {
      if (parts === 100) abort.abort(new Error("enough"));
      take(0, Buffer.alloc(1024, "n"));
      await new Promise(setImmediate);
    }
    await expect(writing).rejects.toThrow("enough");
    expect(readFileSync(path, "utf8")).toBe("old");
  });

  test.skipIf(!isRoot)("when the disk is full", async () => {
    const folder = mounted("full", "size=1m");
    const path = join(folder, "kept");
    writeFileSync(path, "old");
    for (const more of [{}, { append: true }]) {
      const writing = write(path, Buffer.alloc(2 * MIB), more);
      await expect(writing).rejects.toMatchObject(refused("NoSpace", /kept: the disk is full$/));
    }
    expect(readFileSync(path, "utf8")).toBe("old");
    expect(readdirSync(folder)).toEqual(["kept"]);
  });

  test.skipIf(!isRoot)("when the disk is full and the file has a second name", async () => {
    const folder = mounted("full-linked", "size=1m");
    const path = join(folder, "kept");
    writeFileSync(path, "old");
    linkSync(path, join(folder, "second"));
    const writing = write(path, Buffer.alloc(700 * 1024));
    await expect(writing).rejects.toMatchObject(refused("NoSpace", /the disk is full$/));
    expect(readFileSync(path, "utf8")).toBe("old");
    expect(readdirSync(folder).toSorted()).toEqual(["kept", "second"]);
  });

  test.skipIf(!isRoot)("when the file system is read-only", async () => {
    const folder = mounted("read-only", "size=1m");
    const path = join(folder, "kept");
    writeFileSync(path, "old");
    execFileSync("mount", ["-o", "remount,ro", folder]);
    const words = refused("PermissionDenied", /the file system is read-only$/);
    await expect(write(path, Buffer.from("new"))).rejects.toMatchObject(words);
    await expect(write(path, Buffer.from("new"), { append: true })).rejects.toMatchObject(words);
    await expect(host().ask("files.remove", { path })).rejects.toMatchObject(words);
    await expect(host().ask("files.mkdir", { path: `${folder}/x` })).rejects.toMatchObject(words);
    const move = { from: path, to: `${folder}/moved` };
    await expect(host().ask("files.move", move)).rejects.toMatchObject(words);
    expect(readFileSync(path, "utf8")).toBe("old");
  });
});

describe("a write", () => {
  test.skipIf(!isRoot)(
    "keeps owner, group and mode of the file, and gives a new one its own",
    async () => {
      const path = join(folderOf("owned"), "file");
      writeFileSync(path, "old");
      chownSync(path, 1234, 5678);
      chmodSync(path, 0o4750);
      await write(path, Buffer.from("new"));
      const { uid, gid, mode } = statSync(path);
      expect([uid, gid, mode & 0o7777]).toEqual([1234, 5678, 0o4750]);
      expect(readFileSync(path, "utf8")).toBe("new");
      await write(path, Buffer.from("new"), { mode: 0o604 });
      expect(statSync(path).mode & 0o7777).toBe(0o604);
    },
  );

  test("follows links, also one that points to what is not there yet", async () => {
    const folder = folderOf("links");
    mkdirSync(join(folder, "deep"));
    writeFileSync(join(folder, "deep/target"), "old");
    symlinkSync("deep/target", join(folder, "link"));
    symlinkSync("link", join(folder, "second"));
    symlinkSync("deep/../deep/new", join(folder, "dangling"));
    await write(join(folder, "second"), Buffer.from("new"));
    await write(join(folder, "dangling"), Buffer.from("made"));
    expect(readFileSync(join(folder, "deep/target"), "utf8")).toBe("new");
    expect(readFileSync(join(folder, "deep/new"), "utf8")).toBe("made");
    for (const name of ["link", "second", "dangling"])
      expect(lstatSync(join(folder, name)).isSymbolicLink()).toBe(true);
    expect(readdirSync(join(folder, "deep")).toSorted()).toEqual(["new", "target"]);
  });

  test("through a link whose folder is not there, and through a circle, says so", async () => {
    const folder = folderOf("lost");
    symlinkSync("nowhere/file", join(folder, "lost"));
    symlinkSync("circle", join(folder, "circle"));
    const lost = write(join(folder, "lost"), Buffer.from("x"));
    await expect(lost).rejects.toMatchObject(refused("NotFound", /no such file or directory/));
    const circle = write(join(folder, "circle"), Buffer.from("x"));
    await expect(circle).rejects.toMatchObject(refused("InvalidPath", /links lead in a circle$/));
  });

  test.each([
    ["longer", "a longer text"],
    ["shorter", "s"],
    ["empty", ""],
  ])("to a file with several names keeps them one file: %s", async (name, text) => {
    const folder = folderOf(`hard-${name}`);
    const [one, two] = [join(folder, "one"), join(folder, "two")];
    writeFileSync(one, "old text");
    linkSync(one, two);
    await write(one, Buffer.from(text));
    expect([readFileSync(one, "utf8"), readFileSync(two, "utf8")]).toEqual([text, text]);
    expect(statSync(one).ino).toBe(statSync(two).ino);
    expect(readdirSync(folder).toSorted()).toEqual(["one", "two"]);
  });

  test.skipIf(!isRoot)(
    "to a file that something is mounted on goes to what is mounted",
    async () => {
      const folder = folderOf("bound");
      const [file, under] = [join(folder, "file"), join(folder, "under")];
      writeFileSync(file, "");
      writeFileSync(under, "old");
      execFileSync("mount", ["--bind", under, file]);
      onTestFinished(() => void execFileSync("umount", ["--lazy", file]));
      await write(file, Buffer.from("new text"));
      expect(readFileSync(under, "utf8")).toBe("new text");
      expect(readdirSync(folder).toSorted()).toEqual(["file", "under"]);
    },
  );

  test("takes a name of 255 bytes, and says of a longer one that it is too long", async () => {
    const folder = folderOf("long");
    const longest = "x".repeat(255);
    await write(join(folder, longest), Buffer.from("1"));
    await write(join(folder, longest), Buffer.from("2"));
    expect(readFileSync(join(folder, longest), "utf8")).toBe("2");
    const tooLong = write(join(folder, `${longest}x`), Buffer.from("1"));
    await expect(tooLong).rejects.toMatchObject(refused("InvalidPath", /longer than 255 bytes$/));
    expect(readdirSync(folder)).toEqual([longest]);
  });

  test("of a name that ends with a slash is refused", async () => {
    const path = `${folderOf("slash")}/name/`;
    await expect(write(path, Buffer.from("x"))).rejects.toMatchObject(
      refused("IsDirectory", /names a directory$/),
    );
    expect(existsSync(path)).toBe(false);
  });

  test.skipIf(!isRoot)("reaches files of the kernel", async () => {
    const path = `/proc/${rig.pid}/comm`;
    const before = readFileSync(path, "utf8").trim();
    await write(path, Buffer.from("renamed"));
    expect(readFileSync(path, "utf8").trim()).toBe("renamed");
    await write(path, Buffer.from(before));
  });

  test("is told by a watch as one: a file that was there is written, a new one created", async () => {
    const folder = folderOf("told");
    const path = join(folder, "there");
    writeFileSync(path, "old");
    const call = host().call("files.watch", { path: folder });
    call.result.catch(() => null);
    const seen = (type: string, name: string) =>
      rig.bulk.hears(
        ({ params }) =>
          params["id"] === call.id &&
          params["type"] === type &&
          params["path"] === join(folder, name),
      );
    const first = seen("create", "probe").then(() => true);
    for (let round = 0, isSeen = false; !isSeen; round += 1) {
      await write(join(folder, "probe"), Buffer.from(String(round)));
      execFileSync("rm", [join(folder, "probe")]);
      isSeen = await Promise.race([
        first,
        host()
          .ask("rpc.ping", {})
          .then(() => false),
      ]);
      await write(join(folder, "probe"), Buffer.from("x"));
    }
    await write(path, Buffer.from("new"));
    await seen("write", "there");
    await write(join(folder, "late"), Buffer.from("new"));
    await seen("create", "late");
    const paths = rig.bulk.heard
      .filter(({ params }) => params["id"] === call.id)
      .map(({ params }) => String(params["path"]));
    expect(paths.filter((one) => one.includes("svc-write"))).toEqual([]);
    expect(rig.bulk.heard).not.toContainEqual(
      expect.objectContaining({ params: expect.objectContaining({ type: "create", path }) }),
    );
  });
});
