import { spawnSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { readAllowance } from "../../../host-kit/egress/allowance.ts";
import { archiveOf } from "../../../vm-host/images/cpio.ts";
import { hashOf } from "../../../vm-host/images/recipe.ts";
import { rulesOf } from "../../../vm-host/network/rules.ts";
import { commandOf } from "../../../vm-host/qemu/command.ts";
import { Confinement } from "../../../vm-host/qemu/confinement.ts";
import { Capacity, memoryClass } from "../../../vm-host/machines/capacity.ts";
import { unpack } from "./newc.ts";

const isRoot = process.getuid?.() === 0;

describe("sizes", () => {
  test.each([
    [1, 512],
    [512, 512],
    [513, 1024],
    [2048, 2048],
    [16_384, 16_384],
  ])("%i MiB are rounded up to %i", (asked, got) => expect(memoryClass(asked)).toBe(got));

  test("room is taken once and given back once", () => {
    const capacity = new Capacity({ cpu: 4, memMb: 1024, slots: 2 });
    const free = capacity.take({ cpu: 2, memMb: 1024 });
    expect(capacity.take({ cpu: 1, memMb: 512 })).toBe("size");
    if (typeof free === "string") throw new Error(free);
    free();
    free();
    expect(capacity.free).toEqual({ cpu: 4, memMb: 1024, slots: 2 });
  });

  test("the last place is a matter of slots, not of size", () => {
    const capacity = new Capacity({ cpu: 64, memMb: 65_536, slots: 1 });
    capacity.take({ cpu: 1, memMb: 512 });
    expect(capacity.take({ cpu: 1, memMb: 512 })).toBe("slots");
  });
});

describe("the archive of the first file system", () => {
  const entries = [
    { path: "a", mode: 0o755, content: "folder" as const },
    { path: "a/run", mode: 0o755, content: Buffer.from("#!/bin/sh\n") },
    { path: "a/odd", mode: 0o600, content: Buffer.from("xyz") },
    { path: "a/link", mode: 0o777, content: { linkTo: "run" } },
  ];

  test("the same entries give the same bytes", () => {
    expect(archiveOf(entries)).toEqual(archiveOf(entries));
  });

  test("a reader of the format finds folders, files and links as they went in", () => {
    expect(unpack(archiveOf(entries))).toEqual([
      { path: "a", kind: 0o040000, mode: 0o755, text: "" },
      { path: "a/run", kind: 0o100000, mode: 0o755, text: "#!/bin/sh\n" },
      { path: "a/odd", kind: 0o100000, mode: 0o600, text: "xyz" },
      { path: "a/link", kind: 0o120000, mode: 0o777, text: "run" },
    ]);
  });
});

test("SVC_EGRESS_ALLOW takes exact pairs only", () => {
  expect(readAllowance("127.0.0.1:80, Example.test:8080")).toEqual([
    { host: "127.0.0.1", port: 80 },
    { host: "example.test", port: 8080 },
  ]);
  expect(() => readAllowance("10.0.0.0/8")).toThrow("is not host:port");
});

test("a hash tells inputs apart", () => {
  expect(hashOf("a", "b")).not.toBe(hashOf("ab"));
  expect(hashOf({ a: 1 })).toMatch(/^[0-9a-f]{16}$/);
});

test.skipIf(!isRoot)("two state folders have two blocks of users, one group", () => {
  const [one, two] = [Confinement.of(1), Confinement.of(2)];
  expect(one?.firstUid).not.toBe(two?.firstUid);
  expect(one?.gid).toBe(two?.gid);
  expect(one?.take()).not.toBe(one?.take());
});

test.skipIf(!isRoot)("the rules are ones that nft takes", () => {
  const confinement = Confinement.of(199);
  if (!confinement) throw new Error("root has a block");
  const allowed = [{ address: "127.0.0.1", port: 9 }];
  const rules = rulesOf("svc_vm_check", confinement, ["10.1.2.3"], allowed);
  const checked = spawnSync("nft", ["--check", "-f", "-"], { input: rules, encoding: "utf8" });
  expect(checked.stderr).toBe("");
});

test("a machine is sandboxed, has no IPv6, and a comma in a path begins no option", () => {
  const image = { name: "base", image: "i", recipe: "r", kernel: "k", sizeGb: 4 };
  const files = { disk: "/d", vmlinuz: "/v", busybox: "/b", bootModules: "/m" };
  const spec = { image: { ...image, ...files }, initrd: { hash: "h", file: "/i" } };
  const command = commandOf({
    name: "m-1",
    spec: { ...spec, cpu: 2, memMb: 512 },
    accelerator: "tcg",
    folder: "/run,x",
    disk: "/run,x/disk",
    isIncoming: false,
  });
  const text = command.join(" ");
  expect(text).toContain("-sandbox on,obsolete=deny,elevateprivileges=deny,spawn=deny");
  expect(text).toContain("user,id=n0,ipv6=off");
  expect(text).toContain("file.filename=/run,,x/disk");
  expect(text).not.toContain("hostfwd");
});
