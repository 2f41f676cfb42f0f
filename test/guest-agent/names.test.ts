import { bytesOf, textOf } from "@svc/guest-agent/files/names.ts";
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { AgentRig, Output } from "./rig.ts";

const rawOf = (bytes: Buffer): string => bytes.toString("latin1");

describe("the text of a name", () => {
  test.each<[string, Buffer, string]>([
    ["plain", Buffer.from("a b.txt"), "a b.txt"],
    ["with letters beyond ASCII", Buffer.from("größe 日本 🎉"), "größe 日本 🎉"],
    ["in Latin-1", Buffer.from("gr\xf6\xdfe", "latin1"), "gr\\xf6\\xdfe"],
    ["of one byte that begins a character", Buffer.from([0xc3]), "\\xc3"],
    ["of a character that is cut", Buffer.from([0x61, 0xe2, 0x82]), "a\\xe2\\x82"],
    ["of half a pair", Buffer.from([0xed, 0xa0, 0x80]), "\\xed\\xa0\\x80"],
    ["that looks like an escape", Buffer.from("a\\xff"), "a\\x5cxff"],
    ["that looks like an escaped backslash", Buffer.from("\\x5c"), "\\x5cx5c"],
    ["with a backslash that misleads nobody", Buffer.from("a\\xFF\\x41\\n"), "a\\xFF\\x41\\n"],
    ["with a backslash before a stray byte", Buffer.from([0x5c, 0xff]), "\\\\xff"],
    [
      "with what is left of an escape before a stray byte",
      Buffer.from([0x5c, 0x78, 0x38, 0xff]),
      "\\x8\\xff",
    ],
  ])("%s is reversible", (_name, bytes, text) => {
    expect(textOf(rawOf(bytes))).toBe(text);
    expect(Buffer.from(bytesOf(text))).toEqual(bytes);
  });

  test("is reversible for every name of a few hostile bytes", () => {
    const hostile = [0x5c, 0x78, 0x35, 0x63, 0x38, 0x66, 0x80, 0xc3, 0xff];
    const names = [[]] as number[][];
    for (let length = 1; length <= 5; length += 1)
      for (const name of names.filter((one) => one.length === length - 1))
        names.push(...hostile.map((byte) => [...name, byte]));
    const wrong = names
      .map((name) => Buffer.from(name))
      .filter((bytes) => !Buffer.from(bytesOf(textOf(rawOf(bytes)))).equals(bytes));
    expect(wrong).toEqual([]);
  });

  test("makes no slash, no dot and no NUL", () => {
    expect(bytesOf("/a\\x2f\\x2e\\x2e\\x00")).toEqual(Buffer.from("/a\\x2f\\x2e\\x2e\\x00"));
  });
});

describe("a name that is no UTF-8", () => {
  let rig: AgentRig;
  beforeAll(async () => void (rig = await AgentRig.start()));
  afterAll(() => rig.close());
  const host = () => rig.bulk.host;

  /** A folder of the machine, and a file in it: as bytes, and as a message has its path. */
  function place(name: string) {
    const folder = join(rig.home, name);
    mkdirSync(folder, { recursive: true });
    const bytes = Buffer.concat([
      Buffer.from(`${folder}/gr`),
      Buffer.from([0xf6, 0xdf]),
      Buffer.from("e"),
    ]);
    return { folder, bytes, path: `${folder}/gr\\xf6\\xdfe` };
  }

  test("is listed, told of, read, searched and removed by one text", async () => {
    const { folder, bytes, path } = place("met");
    writeFileSync(bytes, "needle\n");
    const { entries } = await host().ask("files.list", { path: folder });
    expect(entries).toMatchObject([{ name: "gr\\xf6\\xdfe", path, type: "file", size: 7 }]);
    expect(await host().ask("files.stat", { path })).toEqual(entries[0]);
    const output = new Output();
    await host().call("files.read", { path }, output).result;
    expect(output.stdout.toString()).toBe("needle\n");
    const found = await host().ask("files.search", { path: folder, text: "needle" });
    expect(found.matches).toMatchObject([{ path, line: 1 }]);
    const named = await host().ask("files.search", { path: folder, glob: "gr*e" });
    expect(named.matches).toEqual([{ path }]);
    await host().ask("files.remove", { path });
    expect(readdirSync(folder)).toEqual([]);
  });

  test("is written, moved and made a folder of", async () => {
    const { folder, bytes, path } = place("made");
    const write = (to: string) => {
      const call = host().call("files.write", { path: to });
      void call.stream.write(0, Buffer.from("new")).then(() => call.stream.end(0));
      return call.result;
    };
    expect(await write(path)).toEqual({ path, bytes: 3 });
    expect(readFileSync(bytes, "utf8")).toBe("new");
    await host().ask("files.move", { from: path, to: `${folder}/plain` });
    expect(readFileSync(join(folder, "plain"), "utf8")).toBe("new");
    await host().ask("files.mkdir", { path });
    await write(`${path}/deep/\\xff`);
    const { entries } = await host().ask("files.list", { path: folder, depth: 3 });
    expect(entries.map((entry) => entry.path).toSorted()).toEqual(
      [path, `${path}/deep`, `${path}/deep/\\xff`, `${folder}/plain`].toSorted(),
    );
    await host().ask("files.remove", { path, recursive: true });
    expect(existsSync(bytes)).toBe(false);
  });

  test("is told by a watch, below such a folder, too", async () => {
    const { bytes, path } = place("watched");
    mkdirSync(bytes);
    const call = host().call("files.watch", { path, recursive: true });
    call.result.catch(() => null);
    const told = rig.bulk.hears(
      ({ params }) => params["id"] === call.id && String(params["path"]).endsWith("\\xfe"),
    );
    const isTold = told.then(() => true);
    for (let round = 0, isSeen = false; !isSeen; round += 1) {
      const deep = Buffer.concat([bytes, Buffer.from(`/${round}`)]);
      mkdirSync(deep);
      writeFileSync(Buffer.concat([deep, Buffer.from([0x2f, 0xfe])]), "");
      const ping = host().ask("rpc.ping", {});
      isSeen = await Promise.race([isTold, ping.then(() => false)]);
    }
    expect(String((await told).params["path"])).toMatch(/^.*\/gr\\xf6\\xdfe\/\d+\/\\xfe$/);
  });

  test("with a link to such a name tells its target", async () => {
    const { folder, path } = place("linked");
    await host().ask("commands.run", {
      cmd: "bash",
      args: ["-c", String.raw`cd "$1" && ln -s $'t\xff' link`, "bash", folder],
    });
    const link = await host().ask("files.stat", { path: `${folder}/link` });
    expect(link).toMatchObject({ type: "symlink", target: "t\\xff" });
    expect(await host().ask("files.list", { path: folder })).toMatchObject({
      entries: [{ target: "t\\xff" }],
    });
    expect(path).not.toBe(link.path);
  });
});
