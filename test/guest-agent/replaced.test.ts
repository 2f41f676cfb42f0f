import type { Stats } from "node:fs";
import { expect, test } from "vitest";
import { isReplaced, noteReplaced } from "../../guest-agent/files/replaced.ts";

const file = (ino: number, birthtimeMs: number): Stats =>
  Object.assign(Object.create(null), { ino, birthtimeMs });

test("a file that the agent has replaced is known by its name, also below another path of its folder", () => {
  noteReplaced("/real/a", file(7, 1));
  expect(isReplaced("/link/a", file(7, 1))).toBe(true);
  expect(isReplaced("/real/b", file(7, 1))).toBe(false);
});

test("a later file with the same number and name is another one", () => {
  noteReplaced("/real/a", file(7, 1));
  expect(isReplaced("/real/a", file(7, 2))).toBe(false);
});
