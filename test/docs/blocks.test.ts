// Guards that no block of a page goes unlooked at: programs are run (test/docs/programs.test.ts), data is parsed, and what
// neither can be done to is named in test/docs/not-run.ts with its reason.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { type Block, blocksOf, isProgram, PAGES, programsOf, promiseOf } from "./blocks.ts";
import { firstLine, NOT_RUN } from "./not-run.ts";

const blocks = PAGES.flatMap(blocksOf);

/** Languages that are no programs, and what tells that a block is one. Pictures and messages are blocks without a language. */
const CHECKS: Record<string, (block: Block) => void> = {
  "": () => undefined,
  json: ({ code }) => JSON.parse(code),
  toml: ({ code }) =>
    execFileSync("python3", ["-c", "import sys, tomllib; tomllib.loads(sys.stdin.read())"], {
      input: code,
    }),
  // The page that people copy: test/end-to-end/observer-example.ts opens it.
  html: ({ page }) => expect(page).toBe("docs/OBSERVING.md"),
};

test.each(blocks.filter((block) => !isProgram(block)).map((block) => [block.page, block] as const))(
  "%s: a block of data is what it says",
  (_page, block) => {
    expect(Object.keys(CHECKS)).toContain(block.language);
    CHECKS[block.language]?.(block);
  },
);

test("each block that is not run is there once, under its page and first line", () => {
  const listed = Object.entries(NOT_RUN).flatMap(([page, lines]) =>
    Object.keys(lines).map((line) => ({ page, line })),
  );
  const lost = listed.filter(
    ({ page, line }) =>
      blocks.filter(({ page: of, code }) => of === page && firstLine(code) === line).length !== 1,
  );
  expect(lost).toEqual([]);
});

test("the quickstart has at most 350 words", () => {
  const words = readFileSync("docs/guides/quickstart.md", "utf8").match(/\S+/g) ?? [];
  expect(words.length).toBeLessThanOrEqual(350);
});

describe("a page of programs", () => {
  const block = (language: string, code: string): Block => ({ page: "a.md", language, code });

  test("is one shell, and one module from each import on", () => {
    const programs = programsOf([
      block("sh", "A=1\n"),
      block("ts", "import a from 'a';\n"),
      block("sh", "echo $A\n"),
      block("ts", "a();\n"),
      block("ts", "// why\nimport b from 'b';\n"),
      block("json", "{}\n"),
      block("python", "import json\n"),
    ]);
    expect(programs.map(({ language, code }) => [language, code])).toEqual([
      ["sh", "A=1\necho $A\n"],
      ["node", "import a from 'a';\na();\n"],
      ["node", "// why\nimport b from 'b';\n"],
      ["python", "import json\n"],
    ]);
  });

  test("promises its lines in their order", () => {
    const [program] = programsOf([block("sh", "x\n# → one (…)\n# no promise\n  # → two\n")]);
    if (!program) throw new Error("there is no program");
    const promise = promiseOf(program);
    expect("zero\none (1)\nmore\ntwo\n").toMatch(promise);
    for (const other of ["two\none (1)\n", "one (1)\n", "one (1\n)\ntwo\n", "xone (1)\ntwo\n"])
      expect(other).not.toMatch(promise);
    expect("").toMatch(promiseOf({ ...program, code: "nothing\n" }));
  });
});
