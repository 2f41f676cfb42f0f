// svc_read_file, svc_write_file and svc_list_files, over a real gateway to a real agent.
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import sharp from "sharp";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { MachineRig } from "../../sdk/machine-rig.ts";
import { type Call, callerOf, pictureOf, textOf } from "./tool-calls.ts";

let rig: MachineRig;
let folder = "";
let call: Call;
beforeAll(async () => {
  rig = await MachineRig.start();
  folder = join(rig.home, "files");
  await mkdir(folder, { recursive: true });
  const tools = callerOf(rig.svc());
  call = (name, given, signal) => tools(name, { sessionId: rig.gateway.id, ...given }, signal);
});
afterAll(() => rig?.close());

const at = (name: string): string => join(folder, name);

/** A picture that no encoder makes small. */
const noise = (side: number): Promise<Buffer> =>
  sharp({
    create: {
      width: side,
      height: side,
      channels: 3,
      background: "white",
      noise: { type: "gaussian", mean: 128, sigma: 60 },
    },
  })
    .png()
    .toBuffer();

describe("svc_read_file", () => {
  test("reads a text, by absolute and by relative path", async () => {
    await writeFile(at("text"), "größe\n");
    const told = await call("svc_read_file", { path: at("text") });
    expect(textOf(told)).toBe("größe\n");
    expect(told.json).toEqual({ path: at("text"), size: 8, encoding: "utf8", truncated: false });
    const relative = await call("svc_read_file", { path: "files/./text" });
    expect(relative.json.path).toBe(at("text"));
  });

  test("reads a long text part by part, and cuts no character", async () => {
    const whole = "aé€🎉".repeat(10);
    await writeFile(at("long"), whole);
    for (const maxBytes of [1, 7, 100]) {
      let [text, offset] = ["", 0 as number | undefined];
      while (offset !== undefined) {
        const told = await call("svc_read_file", { path: at("long"), offset, maxBytes });
        text += textOf(told);
        expect(told.json.downloadUrl !== undefined).toBe(told.json.truncated);
        offset = told.json.nextOffset;
      }
      expect(text).toBe(whole);
    }
  });

  test("reads bytes as base64, and says of a binary file what to do", async () => {
    const bytes = Buffer.from([0, 1, 2, 255, 0, 7]);
    await writeFile(at("binary"), bytes);
    const base64 = await call("svc_read_file", {
      path: at("binary"),
      encoding: "base64",
      offset: 2,
      maxBytes: 3,
    });
    expect(textOf(base64)).toBe(bytes.subarray(2, 5).toString("base64"));
    expect(base64.json).toMatchObject({ size: 6, truncated: true, nextOffset: 5 });
    const { json, blocks } = await call("svc_read_file", { path: at("binary") });
    expect(blocks).toEqual([]);
    expect(json.note).toContain("base64");
    expect(json.downloadUrl).toBeDefined();
  });

  test("shows a picture whole, however short a part is asked for", async () => {
    const picture = await noise(300);
    expect(picture.length).toBeGreaterThan(50_000);
    await writeFile(at("picture"), picture);
    const told = await call("svc_read_file", { path: at("picture") });
    expect(pictureOf(told)).toEqual({ bytes: picture, mimeType: "image/png" });
    const jpeg = await sharp(picture).jpeg().toBuffer();
    await writeFile(at("jpeg"), jpeg);
    const other = pictureOf(await call("svc_read_file", { path: at("jpeg"), maxBytes: 10 }));
    expect(other).toEqual({ bytes: jpeg, mimeType: "image/jpeg" });
  });

  test("gives a URL of a picture that is too large to be shown", async () => {
    await writeFile(at("huge"), await noise(1_000));
    const { json, blocks } = await call("svc_read_file", { path: at("huge") });
    expect(blocks).toEqual([]);
    expect(json).toMatchObject({ mimeType: "image/png", truncated: true });
    expect(json.downloadUrl).toBeDefined();
  });

  test("follows links, and reads files that tell no size", async () => {
    await symlink(at("text"), at("link"));
    expect((await call("svc_read_file", { path: at("link") })).json.size).toBe(8);
    expect(textOf(await call("svc_read_file", { path: "/proc/self/status" }))).toContain("Pid:");
    const part = await call("svc_read_file", { path: "/proc/self/status", maxBytes: 20 });
    expect(part.json).toMatchObject({ size: 0, truncated: true, nextOffset: 20 });
  });

  test.each([
    ["files/none", "NotFound"],
    ["files", "IsDirectory"],
    ["files/../secret", "InvalidPath"],
    ["/a\0b", "InvalidPath"],
  ])("of %j is %s", async (path, code) => {
    await expect(call("svc_read_file", { path })).rejects.toMatchObject({ code });
  });
});

describe("svc_write_file", () => {
  test("writes text and bytes, folders included, and appends", async () => {
    const path = at("new/folder/file");
    const told = await call("svc_write_file", { path, content: "größe" });
    expect(told.json).toEqual({ path, bytes: 7 });
    await call("svc_write_file", { path, content: "!", append: true });
    expect(await readFile(path, "utf8")).toBe("größe!");
    await call("svc_write_file", { path, content: "AAH/", encoding: "base64" });
    expect(await readFile(path)).toEqual(Buffer.from([0, 1, 255]));
    const relative = await call("svc_write_file", { path: "files/here", content: "" });
    expect(relative.json).toEqual({ path: at("here"), bytes: 0 });
  });

  test.each([
    [{ path: "files", content: "a" }, "IsDirectory"],
    [{ path: "files/../x", content: "a" }, "InvalidPath"],
    [{ path: "files/x", content: "no base64!", encoding: "base64" }, "InvalidContent"],
  ])("of %o is refused: %s", async (given, code) => {
    await expect(call("svc_write_file", given)).rejects.toMatchObject({ code });
  });
});

describe("svc_list_files", () => {
  test("lists a folder as deep and as long as it is asked", async () => {
    await mkdir(at("tree/a/b"), { recursive: true });
    await writeFile(at("tree/one"), "1");
    const names = async (more: object) => {
      const { json } = await call("svc_list_files", { path: at("tree"), ...more });
      const found = json.entries.map(({ path }: { path: string }) => path.slice(folder.length));
      return [found.toSorted(), json.truncated];
    };
    expect(await names({})).toEqual([["/tree/a", "/tree/one"], false]);
    expect(await names({ depth: 2 })).toEqual([["/tree/a", "/tree/a/b", "/tree/one"], false]);
    const [few, truncated] = await names({ depth: 2, limit: 2 });
    expect([few.length, truncated]).toEqual([2, true]);
    const { json } = await call("svc_list_files", { path: at("tree") });
    expect(json.entries).toContainEqual({
      path: at("tree/one"),
      type: "file",
      size: 1,
      modified: expect.stringMatching(/^\d{4}-/),
    });
  });

  test("lists the home folder unless another one is said", async () => {
    const { json } = await call("svc_list_files");
    expect(json.path).toBe(rig.home);
    expect(json.entries.map(({ path }: { path: string }) => path)).toContain(folder);
  });

  test.each([
    ["files/none", "NotFound"],
    ["files/text", "NotDirectory"],
  ])("of %s is %s", async (path, code) => {
    await expect(call("svc_list_files", { path })).rejects.toMatchObject({ code });
  });
});
