import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";

/** One line of the table: what holds, and the file and the name of the test that shows it. */
const ROW = /^\| (.+?) +\| `([^`]+)` +\| (.+?) +\|$/;

const readme = await readFile(new URL("README.md", import.meta.url), "utf8");
const lines = readme.split("\n").filter((line) => line.startsWith("|"));
// Two lines of each table are its head.
const rows = lines.filter((line) => !/^\| (-+|rule) +\|/.test(line));

// The format wraps long code, never a text.
const source = (file: string) => readFile(new URL(`../../${file}`, import.meta.url), "utf8");

describe("the table of rules", () => {
  test("has no empty row", () => {
    expect(rows.length).toBeGreaterThan(80);
    expect(rows.filter((row) => !ROW.test(row))).toEqual([]);
  });

  test("names tests, not code", () => {
    const names = rows.map((row) => ROW.exec(row)?.[3] ?? "");
    expect(names.filter((name) => /^(describe|test)\b.*\($|^\W*$/.test(name))).toEqual([]);
  });

  test("names tests that exist", async () => {
    const named = rows.map((row) => ROW.exec(row) ?? []);
    const lost = await Promise.all(
      named.map(async ([, rule, file = "", name = ""]) =>
        (await source(file)).includes(name) ? [] : [`${rule}: ${file} has no "${name}"`],
      ),
    );
    expect(lost.flat()).toEqual([]);
  });
});
