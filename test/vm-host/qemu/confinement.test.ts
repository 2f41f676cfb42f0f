import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { confined } from "../../../vm-host/qemu/confinement.ts";

const [file = "", ...args] = confined(["echo", "ran"], null, null);

test("a confined command runs while its parent is there", () => {
  const { status, stdout } = spawnSync(file, args, { encoding: "utf8" });
  expect([status, stdout]).toEqual([0, "ran\n"]);
});

test("a command whose parent died before it could tie itself to it does not run", () => {
  // Another shell stands between: to the command that is as if its parent were gone.
  const between = ["-c", '"$@"; echo "status $?"', "sh", file, ...args];
  const { stdout } = spawnSync("/bin/sh", between, { encoding: "utf8" });
  expect(stdout).toBe("status 1\n");
});
