// The scripts of the project that `svc` runs in its folder.
import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readScript } from "../../cli/installation/installation.ts";

test("the output of a script is read whole, also a character that comes in two pieces", async () => {
  const root = await mkdtemp(join(tmpdir(), "svc-root-"));
  await mkdir(join(root, "scripts"));
  const launcher = `process.stdout.write(Buffer.from([0xe2]));
setTimeout(() => process.stdout.write(Buffer.from([0x9c, 0x94])), 200);`;
  await writeFile(join(root, "scripts/run.mjs"), launcher);
  expect(await readScript(root, ["scripts/any.ts"])).toBe("\u2714");
});
