import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { once } from "node:events";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { AgentRig, Output } from "./rig.ts";

const isRoot = process.getuid?.() === 0;

let rig: AgentRig;
let folder: string;
beforeAll(async () => {
  rig = await AgentRig.start();
  folder = join(rig.home, "odd");
  mkdirSync(join(folder, "inside"), { recursive: true });
  mkdirSync(join(rig.home, "outside"));
  writeFileSync(join(rig.home, "outside/kept"), "kept");
  execFileSync("mkfifo", [join(folder, "fifo")]);
  writeFileSync(join(folder, "file"), "1");
  symlinkSync("nowhere", join(folder, "dangling"));
  symlinkSync("../outside", join(folder, "out"));
  symlinkSync("circle", join(folder, "circle"));
});
afterAll(() => rig.close());

const host = () => rig.bulk.host;
const at = (name: string) => (name.startsWith("/") ? name : join(folder, name));
const refused = (code: string, words: string) => ({
  code: -32_000,
  message: expect.stringContaining(words),
  data: { code, retryable: false },
});

const ACTS = {
  read: (path: string) => host().ask("files.read", { path }),
  write: (path: string) => {
    const call = host().call("files.write", { path });
    void call.stream.write(0, Buffer.from("x")).then(() => call.stream.end(0));
    return call.result;
  },
  append: (path: string) => {
    const call = host().call("files.write", { path, append: true });
    void call.stream.write(0, Buffer.from("x")).then(() => call.stream.end(0));
    return call.result;
  },
  list: (path: string) => host().ask("files.list", { path }),
  search: (path: string) => host().ask("files.search", { path, text: "x" }),
  watch: (path: string) => host().ask("files.watch", { path }),
  mkdir: (path: string) => host().ask("files.mkdir", { path }),
};

describe("what is no plain file is refused for good, in words that say what it is", () => {
  let socket: ReturnType<typeof createServer>;
  beforeAll(async () => {
    socket = createServer().listen(at("socket"));
    await once(socket, "listening");
  });
  afterAll(() => void socket.close());

  test.each<[keyof typeof ACTS, string, string, string]>([
    ["read", "fifo", "Unsupported", "it is a FIFO, not a plain file"],
    ["write", "fifo", "Unsupported", "it is a FIFO, not a plain file"],
    ["append", "fifo", "Unsupported", "it is a FIFO, not a plain file"],
    ["list", "fifo", "NotDirectory", "it is no directory"],
    ["search", "fifo", "NotDirectory", "it is no directory"],
    ["mkdir", "fifo", "AlreadyExists", "it exists already"],
    ["read", "socket", "Unsupported", "it is a socket, not a plain file"],
    ["write", "socket", "Unsupported", "it is a socket, not a plain file"],
    ["append", "socket", "Unsupported", "it is a socket, not a plain file"],
    ["list", "socket", "NotDirectory", "it is no directory"],
    ["read", "/dev/zero", "Unsupported", "it is a device, not a plain file"],
    ["write", "/dev/null", "Unsupported", "it is a device, not a plain file"],
    ["append", "/dev/null", "Unsupported", "it is a device, not a plain file"],
    ["read", "inside", "IsDirectory", "it is a directory"],
    ["write", "inside", "IsDirectory", "it is a directory"],
    ["append", "inside", "IsDirectory", "it is a directory"],
    ["mkdir", "/proc/new/folder", "NotFound", "no such file"],
    ["write", "/proc/new", "NotFound", "no such file"],
    ["read", "dangling", "NotFound", "it is a link to nowhere, which is not there"],
    ["list", "dangling", "NotFound", "no such file"],
    ["search", "dangling", "NotFound", "no such file"],
    ["watch", "dangling", "NotFound", "no such file"],
    ["mkdir", "dangling", "AlreadyExists", "it exists already"],
    ["read", "circle", "InvalidPath", "links lead in a circle"],
    ["append", "circle", "InvalidPath", "links lead in a circle"],
    ["list", "circle", "InvalidPath", "links lead in a circle"],
    ["mkdir", "file/x", "NotDirectory", "lies below what is none"],
    ["write", "file/x", "NotDirectory", "lies below what is none"],
    ["write", "file/x/y", "NotDirectory", "lies below what is none"],
    ["read", `${"x".repeat(256)}`, "InvalidPath", "longer than 255 bytes"],
    ["mkdir", `${"x".repeat(256)}`, "InvalidPath", "longer than 255 bytes"],
  ])("%s of %s is %s", async (act, name, code, words) => {
    await expect(ACTS[act](at(name))).rejects.toMatchObject(refused(code, words));
  });

  test("stat tells of all of them", async () => {
    const typeOf = async (name: string) =>
      (await host().ask("files.stat", { path: at(name) })).type;
    const names = ["fifo", "socket", "/dev/null", "inside", "dangling", "circle", "file"];
    expect(await Promise.all(names.map(typeOf))).toEqual([
      "other",
      "other",
      "other",
      "directory",
      "symlink",
      "symlink",
      "file",
    ]);
  });
});

describe("a link out of the tree", () => {
  test("is listed and searched as a link, and what it points to is left alone", async () => {
    const { entries } = await host().ask("files.list", { path: folder, depth: 9 });
    expect(entries.find(({ name }) => name === "out")).toMatchObject({ type: "symlink" });
    expect(entries.filter(({ path }) => path.includes("kept"))).toEqual([]);
    const { matches } = await host().ask("files.search", { path: folder, text: "kept" });
    expect(matches).toEqual([]);
  });

  test("is what a removal removes", async () => {
    mkdirSync(at("gone"));
    symlinkSync("../../outside", at("gone/out"));
    await host().ask("files.remove", { path: at("gone"), recursive: true });
    symlinkSync("../outside", at("also"));
    await host().ask("files.remove", { path: at("also"), recursive: true });
    expect(readFileSync(join(rig.home, "outside/kept"), "utf8")).toBe("kept");
  });
});

describe("a refusal says what to do", () => {
  test("of a directory that is not empty", async () => {
    mkdirSync(at("filled/deep"), { recursive: true });
    const remove = host().ask("files.remove", { path: at("filled") });
    await expect(remove).rejects.toMatchObject(refused("NotEmpty", "not empty: set recursive"));
    const move = { from: at("inside"), to: at("filled"), overwrite: true };
    await expect(host().ask("files.move", move)).rejects.toMatchObject(
      refused("NotEmpty", "the directory is not empty"),
    );
  });

  test("of a move onto what is there, and into itself", async () => {
    const onto = host().ask("files.move", { from: at("file"), to: at("inside") });
    await expect(onto).rejects.toMatchObject(refused("AlreadyExists", "set overwrite"));
    const into = host().ask("files.move", { from: at("inside"), to: at("inside/deep") });
    await expect(into).rejects.toMatchObject(refused("InvalidPath", "moved into itself"));
  });

  test.skipIf(!isRoot)("of a mount that is busy", async () => {
    const path = at("mounted");
    mkdirSync(path);
    execFileSync("mount", ["-t", "tmpfs", "svc-test", path]);
    onTestFinished(() => void execFileSync("umount", ["--lazy", path]));
    for (const recursive of [false, true])
      await expect(host().ask("files.remove", { path, recursive })).rejects.toMatchObject(
        refused("InUse", "something is mounted there"),
      );
  });

  test("and is read whole, however long the path is", async () => {
    const path = `/${"deep/".repeat(780)}x`;
    const error = await host()
      .ask("files.read", { path })
      .catch((caught: unknown) => caught);
    expect(error).toMatchObject(refused("NotFound", "there is no such file or directory"));
    expect(String(error).length).toBeLessThan(512);
  });
});

describe.skipIf(!isRoot)("a move to another file system", () => {
  function mounted(name: string): string {
    const path = at(name);
    mkdirSync(path);
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=1m", "svc-test", path]);
    onTestFinished(() => void execFileSync("umount", ["--lazy", path]));
    return path;
  }

  test("takes names, links, modes and owners with it", async () => {
    const disk = mounted("other");
    const tree = at("tree");
    execFileSync("bash", [
      "-c",
      String.raw`mkdir -p "$1/deep" && cd "$1" && echo 1 > $'deep/\xff' && ln -s $'deep/\xff' link && chown 12:34 deep/* && chmod 4710 deep/*`,
      "bash",
      tree,
    ]);
    await host().ask("files.move", { from: tree, to: `${disk}/new/tree` });
    expect(existsSync(tree)).toBe(false);
    const { entries } = await host().ask("files.list", { path: `${disk}/new`, depth: 9 });
    expect(entries.map(({ path }) => path.slice(disk.length)).toSorted()).toEqual([
      "/new/tree",
      "/new/tree/deep",
      "/new/tree/deep/\\xff",
      "/new/tree/link",
    ]);
    const [file] = entries.filter(({ type }) => type === "file");
    expect(file).toMatchObject({ owner: 12, group: 34, mode: 0o4710 });
    const output = new Output();
    await host().call("files.read", { path: `${disk}/new/tree/link` }, output).result;
    expect(output.stdout.toString()).toBe("1\n");
  });

  test("that finds the disk full leaves both sides as they were", async () => {
    const disk = mounted("small");
    const from = at("large");
    writeFileSync(from, Buffer.alloc(2 * 1024 * 1024));
    writeFileSync(`${disk}/to`, "old");
    const move = { from, to: `${disk}/to`, overwrite: true };
    await expect(host().ask("files.move", move)).rejects.toMatchObject(
      refused("NoSpace", "the disk is full"),
    );
    expect(readFileSync(`${disk}/to`, "utf8")).toBe("old");
    expect(readdirSync(disk)).toEqual(["to"]);
    expect(existsSync(from)).toBe(true);
  });
});
