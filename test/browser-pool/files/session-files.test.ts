import { mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { LIMITS } from "@svc/contract/limits.ts";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { SessionFiles, shownOf } from "../../../browser-pool/files/session-files.ts";

let folder = "";
let downloads = "";
let files: SessionFiles;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "files-"));
  downloads = await mkdtemp(join(tmpdir(), "downloads-"));
  files = new SessionFiles(folder, downloads);
  await files.prepare();
});
afterEach(async () => {
  files.close();
  for (const path of [folder, downloads]) await rm(path, { recursive: true });
});

/** Other limits for one test. */
function limited(limits: Partial<Record<keyof typeof LIMITS, number>>): void {
  const own = { ...LIMITS };
  Object.assign(LIMITS, limits);
  onTestFinished(() => void Object.assign(LIMITS, own));
}

async function download(guid: string, name: string, bytes: string): Promise<void> {
  files.begin(guid, name);
  await writeFile(join(downloads, guid), bytes);
  files.finish(guid, null);
}

async function textOf(name: string): Promise<string | null> {
  const file = await files.read(name);
  if ("refused" in file) return null;
  const bytes = await file.handle.readFile();
  await file.handle.close();
  return bytes.toString();
}

const upload = (name: string, text: string) =>
  files.write(name, Readable.from([Buffer.from(text)]));

test("a download outlives the file that it was", async () => {
  await download("g1", "a.txt", "one");
  await download("g2", "a.txt", "two");
  await files.list();
  await rm(join(downloads, "g1"));
  expect([await textOf("a.txt"), await textOf("a (1).txt")]).toEqual(["one", "two"]);
});

test("what is no file in the place of a download is not kept: a link would lead anywhere", async () => {
  await symlink("/etc/passwd", join(downloads, "g1"));
  files.begin("g1", "passwd");
  files.finish("g1", null);
  files.begin("g2", "away");
  files.finish("g2", "/../../etc/hostname");
  expect(await files.list()).toEqual([]);
  expect(await readdir(shownOf(folder))).toEqual([]);
});

test("a client that keeps the names of downloads has them listed too", async () => {
  files.begin("g1", "named.txt");
  await writeFile(join(downloads, "named (1).txt"), "x");
  files.finish("g1", "/downloads/named (1).txt");
  expect(await files.list()).toMatchObject([{ name: "named.txt", bytes: 1, state: "complete" }]);
});

test("a download that is canceled, or of which there is no file, leaves the list", async () => {
  files.begin("g1", "a");
  files.progress("g1", 7);
  expect(await files.list()).toMatchObject([{ name: "a", bytes: 7, state: "inProgress" }]);
  files.cancel("g1");
  files.begin("g2", "b");
  files.finish("g2", null);
  expect(await files.list()).toEqual([]);
});

test("an upload takes the place of a file of its name, and no room besides", async () => {
  limited({ sessionFilesBytes: 10 });
  await download("g1", "a", "12345678");
  await files.list();
  expect(await upload("a", "xy")).toEqual({ path: "/files/a", bytes: 2 });
  expect(await upload("b", "12345678")).toEqual({ path: "/files/b", bytes: 8 });
  expect(await upload("c", "1")).toEqual({ refused: "overQuota" });
  await download("g2", "d", "1");
  expect((await files.list()).map(({ name, state }) => [name, state])).toEqual([
    ["a", "complete"],
    ["b", "complete"],
    ["d", "overQuota"],
  ]);
  expect(await files.read("d")).toEqual({ refused: "overQuota" });
});

test("an upload under the name of a download that is under way does not lose its place", async () => {
  files.begin("g1", "a");
  await upload("a", "up");
  await writeFile(join(downloads, "g1"), "down");
  files.finish("g1", null);
  expect((await files.list()).map(({ name }) => name)).toEqual(["a", "a (1)"]);
  expect([await textOf("a"), await textOf("a (1)")]).toEqual(["up", "down"]);
});

test("a file above the cap of one is refused, and nothing of it is kept", async () => {
  limited({ sessionFileBytes: 4 });
  expect(await upload("a", "12345")).toEqual({ refused: "tooLarge" });
  await download("g1", "b", "12345");
  expect(await files.list()).toMatchObject([{ name: "b", bytes: 5, state: "tooLarge" }]);
  expect(await readdir(join(folder, "incoming"))).toEqual([]);
});

test("more files than a session has are not listed, and uploads are told", async () => {
  limited({ sessionFiles: 2 });
  for (const guid of ["g1", "g2", "g3"]) await download(guid, guid, "x");
  expect((await files.list()).map(({ name }) => name)).toEqual(["g1", "g2"]);
  expect(await upload("new", "x")).toEqual({ refused: "overQuota" });
  expect(await upload("g1", "x")).toMatchObject({ bytes: 1 });
});

test("an upload that is cut leaves nothing, not even its room", async () => {
  limited({ sessionFilesBytes: 4 });
  const body = new PassThrough();
  const writing = files.write("a", body);
  body.write("1234", () => body.destroy(new Error("cut")));
  await expect(writing).rejects.toThrow("cut");
  expect(await upload("b", "1234")).toMatchObject({ bytes: 4 });
  expect(await readdir(join(folder, "incoming"))).toEqual([]);
});

test("an upload of a session that ends is told so", async () => {
  const body = new PassThrough();
  const writing = files.write("a", body);
  body.write("1234");
  files.close();
  expect(await writing).toEqual({ refused: "ended" });
  expect(await upload("b", "x")).toEqual({ refused: "ended" });
});

test("no more transfers at once than a session may have", async () => {
  limited({ sessionTransfers: 1 });
  const held = Promise.withResolvers<string>();
  const first = files.transfer(() => held.promise);
  expect(await files.transfer(async () => "second")).toBeNull();
  held.resolve("first");
  expect(await first).toBe("first");
  expect(await files.transfer(async () => "third")).toBe("third");
});
