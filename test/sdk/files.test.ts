// Files and git of the sdk, over a real gateway to a real agent, with connections that are lost.
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { ConnectionError, ControlError, type FileChange, type Sandbox } from "@svc/sdk/index.ts";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { MachineRig } from "./machine-rig.ts";

const MIB = 1024 * 1024;
const PART = 64 * 1024;
// For a busy computer: the default is a second.
const SOON = { timeout: 60_000 };

let rig: MachineRig;
let box: Sandbox;
let folder = "";
beforeAll(async () => {
  rig = await MachineRig.start();
  folder = join(rig.home, "files");
  await mkdir(folder, { recursive: true });
});
afterAll(() => rig.close());
beforeEach(async () => void (box = await rig.sandbox()));
afterEach(() => {
  rig.cut = null;
  box.close();
});

const at = (name: string): string => join(folder, name);
const isRequest = (text: string, method: string): boolean => text.includes(`"method":"${method}"`);

/** Bytes that are all different from their neighbours, in parts. */
function* parts(count: number): Generator<Uint8Array, void> {
  for (let part = 0; part < count; part += 1)
    yield Uint8Array.from({ length: PART }, (_, byte) => (byte * 31 + part) & 0xff);
}

const streamOf = (all: Iterator<Uint8Array>): ReadableStream<Uint8Array> =>
  new ReadableStream({
    pull(controller) {
      const { done, value } = all.next();
      if (done) controller.close();
      else controller.enqueue(value as Uint8Array);
    },
  });

describe("files", () => {
  test.each<[string, () => Parameters<Sandbox["files"]["write"]>[1]]>([
    ["text", () => "größe"],
    ["bytes", () => new TextEncoder().encode("größe")],
    ["a blob", () => new Blob(["grö", "ße"])],
    ["a stream", () => new Blob(["größe"]).stream() as ReadableStream<Uint8Array>],
  ])("are written from %s and read back, folders included", async (name, data) => {
    const path = at(`new/folder/${name}`);
    expect(await box.files.write(path, data())).toBe(7);
    expect(await readFile(path, "utf8")).toBe("größe");
    expect(await box.files.read(path)).toBe("größe");
    expect(await box.files.readBytes(path, { offset: 2, length: 2 })).toEqual(
      new TextEncoder().encode("ö"),
    );
    expect(await box.files.exists(path)).toBe(true);
  });

  test("are listed, searched, moved and removed", async () => {
    await box.files.write(at("a/one.txt"), "first\nsecond\n", { mode: 0o600 });
    await box.files.write(at("a/one.txt"), "third\n", { append: true });
    expect(await box.files.stat(at("a/one.txt"))).toMatchObject({ size: 19, mode: 0o600 });
    await box.files.mkdir(at("a/b"));
    const { entries, truncated } = await box.files.list(at("a"));
    expect({ names: entries.map(({ name }) => name), truncated }).toEqual({
      names: ["b", "one.txt"],
      truncated: false,
    });
    const { matches } = await box.files.search(at("a"), { glob: "*.txt", text: "second" });
    expect(matches).toMatchObject([{ path: at("a/one.txt"), line: 2 }]);
    await box.files.move(at("a/one.txt"), at("a/two.txt"));
    await expect(box.files.move(at("a/two.txt"), at("a/b"))).rejects.toBeInstanceOf(ControlError);
    await box.files.remove(at("a"), { recursive: true });
    expect(await box.files.exists(at("a"))).toBe(false);
    await expect(box.files.read(at("a/two.txt"))).rejects.toMatchObject({
      name: "ControlError",
      code: "NotFound",
      retryable: false,
    });
    await expect(box.files.read("relative")).rejects.toMatchObject({
      code: "InvalidParams",
      field: "path",
    });
  });

  test("that are large pass whole both ways, as fast as the slower side", async () => {
    const path = at("large");
    expect(await box.files.write(path, streamOf(parts(160)))).toBe(10 * MIB);
    const expected = parts(160);
    const before = rig.streamed;
    const reader = box.files.stream(path).getReader();
    let rest = Buffer.from((await reader.read()).value ?? []);
    // The credit of the stream bounds what is read ahead.
    for (let calls = 0; calls < 20; calls += 1) await box.files.exists(path);
    expect(rig.streamed - before).toBeLessThan(2 * MIB);
    for (let step = await reader.read(); !step.done; step = await reader.read()) {
      rest = Buffer.concat([rest, step.value]);
      for (; rest.length >= PART; rest = rest.subarray(PART))
        expect(rest.subarray(0, PART).equals(expected.next().value as Uint8Array)).toBe(true);
    }
    expect(rest).toHaveLength(0);
    expect(expected.next().done).toBe(true);
  });

  test("are read and written again when the connection is lost, but for a stream and what is appended", async () => {
    rig.cut = (text, from) => from === "client" && isRequest(text, "files.write");
    expect(await box.files.write(at("again"), "whole")).toBe(5);
    let id = -1;
    rig.cut = (text, from) => {
      if (isRequest(text, "files.read")) id = (JSON.parse(text) as { id: number }).id;
      return from === "guest" && (JSON.parse(text) as { id?: number }).id === id;
    };
    expect(await box.files.read(at("again"))).toBe("whole");
    for (const [data, append] of [
      [streamOf(parts(1)), false],
      ["more", true],
    ] as const) {
      rig.cut = (text) => isRequest(text, "files.write");
      await expect(box.files.write(at("again"), data, { append })).rejects.toBeInstanceOf(
        ConnectionError,
      );
    }
    expect(await box.files.read(at("again"))).toBe("whole");
  });

  test("keep their content when a write is aborted, its source fails, or a read is left", async () => {
    await box.files.write(at("kept"), "old");
    const reason = new Error("enough");
    const abort = new AbortController();
    const endless = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new Uint8Array(1024)),
    });
    const writing = box.files.write(at("kept"), endless, { signal: abort.signal });
    setTimeout(() => abort.abort(reason));
    await expect(writing).rejects.toBe(reason);
    const failing = new ReadableStream<Uint8Array>({
      pull(controller) {
        controller.error(reason);
      },
    });
    await expect(box.files.write(at("kept"), failing)).rejects.toBe(reason);
    expect(await box.files.read(at("kept"))).toBe("old");
    await box.files.write(at("long"), streamOf(parts(64)));
    const read = new AbortController();
    const reader = box.files.stream(at("long"), { signal: read.signal }).getReader();
    await reader.read();
    read.abort(reason);
    await expect(
      (async () => {
        while (!(await reader.read()).done);
      })(),
    ).rejects.toBe(reason);
  });

  test("are watched, also over a lost connection", async () => {
    await box.files.mkdir(at("watched"));
    const abort = new AbortController();
    const changes: FileChange[] = [];
    const watching = (async () => {
      for await (const change of box.files.watch(at("watched"), { signal: abort.signal }))
        changes.push(change);
    })();
    watching.catch(() => {});
    const tells = (wanted: Partial<FileChange>): Promise<void> =>
      vi.waitFor(async () => {
        if (wanted.path) await box.files.write(wanted.path, "x");
        expect(changes).toContainEqual(expect.objectContaining(wanted));
      }, SOON);
    await tells({ path: at("watched/a") });
    rig.cutAll();
    await tells({ type: "overflow" });
    await tells({ path: at("watched/b") });
    const reason = new Error("enough");
    abort.abort(reason);
    await expect(watching).rejects.toBe(reason);
  });
});

test("git tells what it did, and its refusals by their codes", async () => {
  const path = at("repo");
  await box.commands.sh(
    `git init -q -b main ${path} && git -C ${path} config user.email a@b.test && git -C ${path} config user.name A`,
    { check: true },
  );
  await box.files.write(join(path, "a.txt"), "a");
  expect(await box.git.status(path)).toMatchObject({
    branch: "main",
    clean: false,
    files: [{ path: "a.txt", worktree: "untracked" }],
  });
  await box.git.add(path);
  const author = { name: "B", email: "b@b.test" };
  const { commit } = await box.git.commit(path, "first", { author });
  expect(await box.git.log(path)).toMatchObject({
    commits: [{ commit, message: "first", author }],
  });
  await box.git.checkout(path, "topic", { create: true });
  expect(await box.git.branches(path)).toEqual({ current: "topic", branches: ["main", "topic"] });
  const clone = at("clone");
  expect(await box.git.clone(path, clone)).toMatchObject({ branch: "topic", commit });
  expect(await box.git.pull(clone)).toMatchObject({ commit, changed: false });
  await box.git.checkout(clone, "other", { create: true });
  expect(await box.git.push(clone, { branch: "other" })).toMatchObject({ remote: "origin" });
  await expect(box.git.clone(at("nothing"), at("elsewhere"))).rejects.toMatchObject({
    name: "ControlError",
    code: expect.stringMatching(/^Git/),
  });
});
