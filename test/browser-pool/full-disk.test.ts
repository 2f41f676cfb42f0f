import { execFileSync } from "node:child_process";
import { chmod, mkdtemp, readdir, rm, rmdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { missingBrowser } from "../support/process/needs.ts";
import { RawCdp, byWire, firstPage } from "./clients.ts";
import { Rig } from "./rig.ts";

const MIB = 1024 * 1024;

/** A file system of its own for the folders of slots; false where this user may not mount one. */
function mount(folder: string): boolean {
  try {
    const options = ["-t", "tmpfs", "-o", "size=96m,mode=0711", "svc-test", folder];
    execFileSync("mount", options, { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

describe.skipIf(process.getuid?.() !== 0 || (await missingBrowser()))("a full disk", () => {
  let folder: string;
  let isMounted: boolean;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "full-"));
    await chmod(folder, 0o711);
    isMounted = mount(folder);
  });
  afterEach(async () => {
    if (isMounted) execFileSync("umount", ["--lazy", folder]);
    await rmdir(folder);
  });

  /** Writes until nothing goes in any more. */
  async function fill(): Promise<string> {
    const file = join(folder, "filler");
    for (const size of [MIB, 4096]) {
      for (let wrote = true; wrote;) {
        wrote = await writeFile(file, Buffer.alloc(size), { flag: "a" }).then(
          () => true,
          () => false,
        );
      }
    }
    return file;
  }

  test("stops no session and no launch, and nothing stays", async (context) => {
    if (!isMounted) context.skip("this user may not mount");
    const rig = await Rig.start({ env: { TMPDIR: folder } });
    const { seq } = await rig.place("s");
    const wire = await byWire(rig, "s");
    const page = firstPage(wire);
    await rig.gateway.beat((beat) => beat.seq > seq && beat.kinds.fast?.idle === 1);
    const filler = await fill();

    // What needs no disk goes on; what needs it fails by itself, and takes nothing with it.
    expect(await page.evaluate(() => 6 * 7)).toBe(42);
    const cdp = await RawCdp.open(rig, "s");
    expect((await cdp.call("Browser.getVersion")).result).toBeDefined();
    expect(rig.gateway.last?.slots).toMatchObject([{ id: "s" }]);

    // Browsers are launched as ever: their own disks lie in memory. Clients of them work.
    const placed = await rig.place("t");
    await rig.gateway.beat((beat) => beat.seq > placed.seq && beat.kinds.fast?.idle === 1);
    const other = await byWire(rig, "t");
    expect(await firstPage(other).evaluate(() => 6 * 7)).toBe(42);
    expect((await (await RawCdp.open(rig, "t")).call("Browser.getVersion")).result).toBeDefined();

    // Both end as ever, and with the disk the pool is back.
    for (const id of ["s", "t"]) expect((await rig.delete(id)).status).toBe(204);
    await rm(filler);
    await rig.gateway.beat(({ kinds }) => kinds.fast?.idle === 1 && kinds.fast.recycling === 0);
    const last = await rig.place("v");
    const next = await byWire(rig, "v");
    expect(await firstPage(next).evaluate(() => 1)).toBe(1);
    await rig.delete("v");
    // Not one from before it was placed.
    await rig.gateway.beat(
      ({ seq: at, kinds: { fast }, slots }) =>
        at > last.seq && fast?.idle === 1 && fast.recycling === 0 && slots.length === 0,
    );
    const [run = ""] = (await readdir(folder)).filter((name) => name.startsWith("svc-pool-"));
    const slots = (await readdir(join(folder, run))).filter((name) => /^\d+$/.test(name));
    expect(slots).toHaveLength(1);
    expect(await readdir(join(folder, run, "wire/files"))).toHaveLength(1);
    await rig.stop();
    expect(await readdir(folder)).toEqual([]);
  });
});
