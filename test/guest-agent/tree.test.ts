import { mkdirSync, mkdtempSync, renameSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { WatchedTree } from "@svc/guest-agent/files/tree.ts";
import { expect, onTestFinished, test } from "vitest";

/** A watched folder and what was told of it, without the folder's own path. */
function watched(...folders: string[]): { root: string; told: string[] } {
  const root = mkdtempSync(join(tmpdir(), "svc-tree-"));
  for (const folder of folders) mkdirSync(join(root, folder), { recursive: true });
  const told: string[] = [];
  const tell = (event: string, path: string) =>
    told.push(`${event} ${path.slice(root.length + 1)}`);
  const tree = new WatchedTree(root, root, {
    told: tell,
    moved: (from, to) =>
      void to.then((path) => (path === null ? tell("remove", from) : tell("rename", path))),
    overflow: () => told.push("overflow"),
    failed: (error) => told.push(String(error)),
  });
  onTestFinished(() => {
    tree.close();
    rmSync(root, { recursive: true });
  });
  return { root, told };
}

let rounds = 0;

/** Resolves when the tree has told of a new file in that folder: all that came before has been told, too. */
async function caughtUp(root: string, told: string[], folder: string): Promise<void> {
  rounds += 1;
  await expect
    .poll(() => {
      const name = join(folder, `round-${rounds}`);
      if (told.includes(`create ${name}`)) return true;
      rounds += 1;
      writeFileSync(join(root, folder, `round-${rounds}`), "");
      return false;
    })
    .toBe(true);
}

test("what happens in a folder while it is watched again is told", async () => {
  const { root, told } = watched("a/deep");
  await caughtUp(root, told, "a/deep");
  writeFileSync(join(root, "a/file"), "");
  writeFileSync(join(root, "a/deep/file"), "");
  await caughtUp(root, told, "a/deep");
  // All of it waits in the kernel when the tree hears the first word, and watches the folder again.
  renameSync(join(root, "a"), join(root, "b"));
  renameSync(join(root, "b"), join(root, "a"));
  unlinkSync(join(root, "a/file"));
  const before = told.length;
  await caughtUp(root, told, "a/deep");
  expect(told.slice(before)).toContain("remove a/file");
});

test("a folder that takes the name of another is watched, with what is in it", async () => {
  const { root, told } = watched("a/deep", "c/deep/er");
  await caughtUp(root, told, "c/deep/er");
  await caughtUp(root, told, "a/deep");
  renameSync(join(root, "a"), join(root, "b"));
  renameSync(join(root, "c"), join(root, "a"));
  await caughtUp(root, told, "a/deep/er");
  await caughtUp(root, told, "b/deep");
  const before = told.length;
  writeFileSync(join(root, "b/deep/x"), "");
  await caughtUp(root, told, "b/deep");
  expect(told.slice(before)).not.toContain("create a/deep/x");
});

test("a folder that is removed and made anew at once is watched", async () => {
  const { root, told } = watched("a/deep");
  await caughtUp(root, told, "a/deep");
  for (let round = 0; round < 20; round += 1) {
    rmSync(join(root, "a"), { recursive: true });
    mkdirSync(join(root, "a/deep"), { recursive: true });
    await caughtUp(root, told, "a/deep");
  }
  expect(told).not.toContain("overflow");
});

test("a folder that comes while the tree begins is told with what is in it, if it is told", async () => {
  for (let round = 0; round < 50; round += 1) {
    const { root, told } = watched();
    // The tree watches its root by now, and reads what lies in it.
    mkdirSync(join(root, "new/deep"), { recursive: true });
    writeFileSync(join(root, "new/deep/file"), "");
    await caughtUp(root, told, ".");
    const isNew = told.includes("create new");
    await expect.poll(() => !isNew || told.includes("create new/deep/file")).toBe(true);
  }
});
