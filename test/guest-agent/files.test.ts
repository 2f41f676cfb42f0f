import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmod, mkdir, readFile, rename, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { AgentRig, Output } from "./rig.ts";

let rig: AgentRig;
let folder: string;
beforeAll(async () => {
  rig = await AgentRig.start();
  folder = join(rig.home, "files");
  await mkdir(folder, { recursive: true });
});
afterAll(() => rig.close());

const host = () => rig.bulk.host;
const at = (name: string) => join(folder, name);

async function read(path: string, part: { offset?: number; length?: number } = {}) {
  const output = new Output();
  const answer = await host().call("files.read", { path, ...part }, output).result;
  return { answer, bytes: output.stdout };
}

function write(path: string, bytes: Uint8Array, more: { mode?: number; append?: boolean } = {}) {
  const call = host().call("files.write", { path, ...more });
  void call.stream.write(0, bytes).then(() => call.stream.end(0));
  return call.result;
}

/** Does it once more, and once more, until it is told: one that comes too early, or with the next, is not. */
async function until(told: Promise<unknown>, act: (round: number) => Promise<unknown>) {
  const isTold = told.then(() => true);
  for (let round = 0, isSeen = false; !isSeen; round += 1) {
    await act(round);
    const ping = host().ask("rpc.ping", {});
    isSeen = await Promise.race([isTold, ping.then(() => false)]);
  }
}

const refused = (code: string) => ({ code: -32_000, data: { code, retryable: false } });

describe("transfer", () => {
  test("32 MiB in and out are the same bytes, and parents are created", async () => {
    const bytes = randomBytes(32 * 1024 * 1024);
    const path = at("a/b/c/big");
    expect(await write(path, bytes)).toEqual({ path, bytes: bytes.length });
    const { answer, bytes: back } = await read(path);
    expect(answer).toMatchObject({ size: bytes.length, bytes: bytes.length });
    expect(back.equals(bytes)).toBe(true);
  });

  test("writing replaces, appends, clears, and sets the mode", async () => {
    const path = at("small");
    await write(path, Buffer.from("long text"), { mode: 0o640 });
    await write(path, Buffer.from("ab"));
    await write(path, Buffer.from("cd"), { append: true });
    expect(await readFile(path, "utf8")).toBe("abcd");
    expect((await stat(path)).mode & 0o777).toBe(0o640);
    expect(await write(path, Buffer.alloc(0))).toEqual({ path, bytes: 0 });
    expect((await stat(path)).size).toBe(0);
  });

  test("a part of a file", async () => {
    await writeFile(at("part"), "0123456789");
    expect((await read(at("part"), { offset: 3, length: 4 })).bytes.toString()).toBe("3456");
    expect((await read(at("part"), { offset: 8, length: 9 })).bytes.toString()).toBe("89");
    expect((await read(at("part"), { offset: 20 })).bytes).toHaveLength(0);
  });

  test("a write that is cancelled ends", async () => {
    const abort = new AbortController();
    const { result, stream } = host().call(
      "files.write",
      { path: at("never") },
      { signal: abort.signal },
    );
    await stream.write(0, Buffer.from("some"));
    abort.abort();
    await expect(result).rejects.toMatchObject({ code: -32_800 });
  });

  test.skipIf(process.getuid?.() !== 0)("a full disk is NoSpace", async () => {
    const disk = at("disk");
    await mkdir(disk);
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k", "svc-test", disk]);
    onTestFinished(() => void execFileSync("umount", ["--lazy", disk]));
    const writing = write(join(disk, "file"), Buffer.alloc(256 * 1024));
    await expect(writing).rejects.toMatchObject(refused("NoSpace"));
  });

  test("what is no plain file is refused, also a FIFO that nobody writes", async () => {
    await host().ask("commands.run", { cmd: "mkfifo", args: [at("fifo")] });
    await expect(read(at("fifo"))).rejects.toMatchObject(refused("Unsupported"));
    await expect(read(folder)).rejects.toMatchObject(refused("IsDirectory"));
    await expect(read(at("nothing"))).rejects.toMatchObject(refused("NotFound"));
    await expect(write(folder, Buffer.from("x"))).rejects.toMatchObject(refused("IsDirectory"));
  });
});

describe("paths", () => {
  test.each(["relative", "/a/../b", "/a\0b", `/${"x".repeat(4096)}`])(
    "%j is refused as a parameter",
    async (path) => {
      const call = host().ask("files.stat", { path });
      await expect(call).rejects.toMatchObject({ code: -32_602, data: { field: "path" } });
    },
  );

  test("a part that is no directory, and a name that is too long", async () => {
    await writeFile(at("plain"), "");
    await expect(host().ask("files.stat", { path: at("plain/x") })).rejects.toMatchObject(
      refused("NotDirectory"),
    );
    await expect(host().ask("files.stat", { path: at("x".repeat(300)) })).rejects.toMatchObject(
      refused("InvalidPath"),
    );
  });
});

describe("folders", () => {
  test("stat tells a link from what it points to", async () => {
    await symlink("/no/where", at("link"));
    expect(await host().ask("files.stat", { path: at("link") })).toMatchObject({
      name: "link",
      path: at("link"),
      type: "symlink",
      target: "/no/where",
    });
  });

  test("list goes as deep as asked and says when there is more", async () => {
    const path = at("tree");
    await host().ask("files.mkdir", { path: at("tree/one/two/three") });
    await writeFile(at("tree/one/file"), "12345");
    const names = async (more: object) => {
      const { entries, truncated } = await host().ask("files.list", { path, ...more });
      return [entries.map((entry) => entry.path.slice(path.length + 1)).toSorted(), truncated];
    };
    expect(await names({})).toEqual([["one"], false]);
    expect(await names({ depth: 2 })).toEqual([["one", "one/file", "one/two"], false]);
    expect(await names({ depth: 9 })).toEqual([
      ["one", "one/file", "one/two", "one/two/three"],
      false,
    ]);
    expect(await names({ depth: 9, limit: 2 })).toEqual([["one", expect.any(String)], true]);
  });

  test("move refuses to overwrite unless told", async () => {
    await writeFile(at("from"), "1");
    await writeFile(at("to"), "2");
    const params = { from: at("from"), to: at("to") };
    await expect(host().ask("files.move", params)).rejects.toMatchObject(refused("AlreadyExists"));
    expect(await host().ask("files.move", { ...params, overwrite: true })).toEqual({ ok: true });
    expect(await readFile(at("to"), "utf8")).toBe("1");
  });

  test("remove takes a full folder only when told", async () => {
    await host().ask("files.mkdir", { path: at("full/of") });
    const path = at("full");
    await expect(host().ask("files.remove", { path })).rejects.toMatchObject(refused("NotEmpty"));
    expect(await host().ask("files.remove", { path, recursive: true })).toEqual({ ok: true });
    await expect(host().ask("files.remove", { path })).rejects.toMatchObject(refused("NotFound"));
  });

  test("search finds names by glob and lines by text or pattern", async () => {
    const path = at("search");
    await host().ask("files.mkdir", { path: at("search/deep/er") });
    await writeFile(at("search/a.ts"), "first\n  needle (x)\n");
    await writeFile(at("search/deep/er/b.ts"), "needle\nneedle (x)\n");
    await writeFile(at("search/deep/c.bin"), "needle (x)\0");
    const find = async (query: object) =>
      (await host().ask("files.search", { path, ...query })).matches
        .map((match) => `${match.path.slice(path.length + 1)}:${match.line ?? ""}`)
        .toSorted();
    expect(await find({ glob: "*.ts" })).toEqual(["a.ts:", "deep/er/b.ts:"]);
    expect(await find({ glob: "deep/**/*.ts" })).toEqual(["deep/er/b.ts:"]);
    expect(await find({ text: "needle (x)" })).toEqual(["a.ts:2", "deep/er/b.ts:2"]);
    expect(await find({ regex: "^needle$" })).toEqual(["deep/er/b.ts:1"]);
    expect(await host().ask("files.search", { path, text: "needle", limit: 1 })).toMatchObject({
      matches: [{ line: expect.any(Number), column: expect.any(Number), preview: /needle/ }],
      truncated: true,
    });
    await expect(find({ regex: "(" })).rejects.toMatchObject({ data: { field: "regex" } });
  });

  test("watch goes on with a file that was replaced, as editors save, also in a folder that came later", async () => {
    const path = at("edited");
    await host().ask("files.mkdir", { path });
    const call = host().call("files.watch", { path, recursive: true });
    call.result.catch(() => null);
    const seen = (type: string, isIt: (where: string) => boolean) =>
      rig.bulk.hears(
        ({ params }) =>
          params["id"] === call.id && params["type"] === type && isIt(String(params["path"])),
      );
    const first = seen("create", (where) => /src\d+$/.test(where));
    await until(first, async (round) => {
      await mkdir(join(path, `src${round}/deep`), { recursive: true });
      await writeFile(join(path, `src${round}/deep/a`), "1");
    });
    const folder = String((await first).params["path"]);
    const [file, draft] = [join(folder, "deep/a"), join(folder, "deep/.a.swp")];
    await seen("create", (where) => where === file);
    await writeFile(draft, "2");
    await rename(draft, file);
    await seen("rename", (where) => where === file);
    await writeFile(file, "3");
    await seen("write", (where) => where === file);
    await host().ask("files.remove", { path: file });
    await seen("remove", (where) => where === file);
    await host().ask("files.remove", { path, recursive: true });
    const { method } = await seen("remove", (where) => where === folder);
    expect(method).toBe("files.event");
  });

  test("watch tells what happens until it is cancelled", async () => {
    const path = at("watched");
    await host().ask("files.mkdir", { path });
    const abort = new AbortController();
    const call = host().call("files.watch", { path, recursive: true }, { signal: abort.signal });
    const seen = (type: string, name: string) =>
      rig.bulk.hears(
        ({ method, params }) =>
          method === "files.event" &&
          params["id"] === call.id &&
          params["type"] === type &&
          params["path"] === join(path, name),
      );
    // Requests are answered in any order: the watch stands when its first event comes.
    const first = rig.bulk.hears(
      ({ params }) => params["id"] === call.id && params["type"] === "create",
    );
    await until(first, (round) => writeFile(join(path, `early-${round}`), ""));
    await writeFile(join(path, "probe"), "");
    await seen("create", "probe");
    await host().ask("files.mkdir", { path: join(path, "sub") });
    await seen("create", "sub");
    await writeFile(join(path, "probe"), "more");
    await seen("write", "probe");
    const told = rig.bulk.heard.map(({ params }) => params["type"]);
    expect(told).not.toContain("chmod");
    // Its content is old by now: what changes next are its rights alone.
    await utimes(join(path, "probe"), 1, 1);
    await until(seen("chmod", "probe"), (round) => chmod(join(path, "probe"), 0o600 + (round % 2)));
    await host().ask("files.remove", { path: join(path, "probe") });
    await seen("remove", "probe");
    abort.abort();
    await expect(call.result).rejects.toMatchObject({ code: -32_800 });
  });
});
