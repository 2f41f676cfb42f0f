import { CreateSandbox } from "@svc/contract/vm/create.ts";
import { volumeFields } from "@svc/contract/vm/volume.ts";
import { describe, expect, test } from "vitest";

describe("a volume's name is trimmed, cut and never refused:", () => {
  test.each<[unknown, string]>([
    [undefined, "volume"],
    [null, "volume"],
    ["", "volume"],
    ["  \n ", "volume"],
    [5, "volume"],
    [["a"], "volume"],
    ["  data  ", "data"],
    ["x".repeat(200), "x".repeat(200)],
    ["x".repeat(201), "x".repeat(200)],
    [`  ${"x".repeat(300)}`, "x".repeat(200)],
    [`${"x".repeat(199)}😀`, "x".repeat(199)],
    ["a\ud800b", "a\ufffdb"],
    ["😀", "😀"],
  ])("%j", (name, stored) => expect(volumeFields({ name })).toEqual({ name: stored }));
});

describe("a volume's size is kept when it is a sane positive number:", () => {
  test.each<[unknown, number | undefined]>([
    [1, 1],
    [512, 512],
    [10.7, 10],
    [1_048_576, 1_048_576],
    [1_048_577, 1_048_576],
    [1e300, 1_048_576],
    [0, undefined],
    [0.5, undefined],
    [-1, undefined],
    ["512", undefined],
    [null, undefined],
    [true, undefined],
    [Number.POSITIVE_INFINITY, undefined],
    [Number.NaN, undefined],
    [[512], undefined],
  ])("%j", (sizeMb, stored) => expect(volumeFields({ sizeMb }).sizeMb).toBe(stored));
});

describe("a volume's labels are its strings:", () => {
  test.each<[unknown, unknown]>([
    [{ a: "b" }, { a: "b" }],
    [{ a: "b", c: 1, d: null, e: ["x"], f: { g: "h" } }, { a: "b" }],
    [{ a: "" }, { a: "" }],
    [{ a: 1 }, undefined],
    [{}, undefined],
    [[], undefined],
    [["a"], undefined],
    ["a", undefined],
    [null, undefined],
    [{ a: "x".repeat(1024), b: "x".repeat(1025) }, { a: "x".repeat(1024) }],
    [JSON.parse('{"__proto__": "x"}'), JSON.parse('{"__proto__": "x"}')],
  ])("%j", (metadata, stored) => expect(volumeFields({ metadata }).metadata).toEqual(stored));
});

const volumeId = `vol_${"0".repeat(32)}`;
const mountAt = (...paths: unknown[]) =>
  CreateSandbox.safeParse({
    volumes: paths.map((path, n) => ({ volumeId: `vol_${n}`.padEnd(36, "0"), path })),
  });

describe("where a volume is mounted is absolute:", () => {
  test.each<[string, string]>([
    ["/data", "/data"],
    ["/data/", "/data"],
    ["//data///x/.", "/data/x"],
    ["/root/ä b", "/root/ä b"],
    ["/etc/app", "/etc/app"],
    ["/runner", "/runner"],
    ["/..data", "/..data"],
  ])("%s is %s", (path, plain) => {
    expect(mountAt(path).data?.volumes).toMatchObject([{ path: plain }]);
  });

  test.each([
    ["data"],
    [""],
    ["./data"],
    ["/data/../etc"],
    ["/.."],
    ["/data\0"],
    [`/${"x".repeat(4096)}`],
    ["/"],
    ["//"],
    ["/./"],
    ["/etc"],
    ["/usr/"],
    ["/proc/1"],
    ["/dev/shm"],
    ["/sys"],
    ["/run"],
    ["/opt/svc/x"],
    [5],
    [null],
  ])("%j is refused", (path) => {
    expect(mountAt(path).error?.issues[0]?.path.slice(0, 3)).toEqual(["volumes", 0, "path"]);
  });
});

test.each([
  ["the same path", mountAt("/data", "/data")],
  ["two spellings of one path", mountAt("/data", "/data/")],
  [
    "the same volume",
    CreateSandbox.safeParse({ volumes: ["/a", "/b"].map((path) => ({ volumeId, path })) }),
  ],
  ["more than a machine has places for", mountAt("/a", "/b", "/c", "/d", "/e")],
])("%s is refused", (_name, parsed) => {
  expect(parsed.error?.issues[0]?.path).toEqual(["volumes"]);
});

test("folders in one another are two paths", () => {
  expect(mountAt("/data", "/data/inner", "/other").success).toBe(true);
});
