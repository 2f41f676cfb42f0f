import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { qemuVersion } from "../../../vm-host/qemu/platform.ts";
import { diskBytesOf } from "../../../vm-host/qemu/empty-layer.ts";
import { makeLayer } from "../../../vm-host/qemu/layers.ts";

const GIB = 1024 ** 3;

describe.skipIf((await qemuVersion()) === null)("an empty layer", () => {
  const folder = mkdtempSync(join(tmpdir(), "layer-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  const at = (name: string): string => join(folder, name);
  const tool = (...args: string[]): string => execFileSync("qemu-img", args, { encoding: "utf8" });

  const base = at("base.raw");
  writeFileSync(base, Buffer.alloc(1024 * 1024, "what lies below"));
  truncateSync(base, 4 * GIB);

  test.each([1, 4, 20])("of %i GiB is whole, and says what lies below", async (sizeGb) => {
    const first = at(`first-${sizeGb}.qcow2`);
    const second = at(`second-${sizeGb}.qcow2`);
    await makeLayer({ file: base, format: "raw" }, first, sizeGb);
    await makeLayer({ file: first, format: "qcow2" }, second);
    expect(diskBytesOf(second)).toBe(sizeGb * GIB);
    expect(tool("check", second)).toContain("No errors were found");
    expect(JSON.parse(tool("info", "--output=json", second))).toMatchObject({
      "virtual-size": sizeGb * GIB,
      "backing-filename": first,
      "backing-filename-format": "qcow2",
    });
    const flat = at(`flat-${sizeGb}.raw`);
    tool("convert", "-O", "raw", second, flat);
    expect(execFileSync("cmp", ["-n", String(1024 * 1024), base, flat]).toString()).toBe("");
  });

  test("takes what is written and leaves what lies below", async () => {
    const layer = at("written.qcow2");
    await makeLayer({ file: base, format: "raw" }, layer);
    const io = ["write -P 7 0 65536", "write -P 9 3G 1M", "read -P 7 0 65536", "read -P 9 3G 1M"];
    const said = execFileSync("qemu-io", [...io.flatMap((one) => ["-c", one]), layer]).toString();
    expect(said).not.toContain("Pattern verification failed");
    expect(tool("check", layer)).toContain("No errors were found");
    expect(tool("map", "--output=json", base)).not.toContain('"start": 3221225472');
  });
});
