// Guards the linter: that each house rule is on, and that it refuses what the rule forbids and nothing else.
import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { LONG_TABLES } from "../../oxlint.config.ts";
import { ProbeTree } from "./probe-tree.ts";

const lines = (count: number) => Array.from({ length: count }, (_, at) => `  use(${at});`);

test.each([
  ["eslint(max-lines)", lines(301).join("\n"), lines(300).join("\n")],
  [
    "eslint(max-lines-per-function)",
    `export function long() {\n${lines(39).join("\n")}\n}`,
    `export function long() {\n${lines(38).join("\n\n")}\n  // Why.\n}`,
  ],
  ["typescript(no-explicit-any)", "export let a: any;", "export let a: unknown;"],
  ["typescript(no-non-null-assertion)", "export const b = a!;", "export const b = a;"],
  ["typescript(ban-ts-comment)", "// @ts-ignore\nexport let a;", "// Why.\nexport let a;"],
  ["typescript(ban-ts-comment)", "// @ts-expect-error\nexport let a;", "export let a;"],
])("%s is an error", async (rule, bad, good) => {
  using tree = new ProbeTree();
  tree.write("scripts/bad.ts", bad);
  tree.write("scripts/good.ts", good);
  const found = (await tree.lint()).filter((finding) => finding.rule === rule);
  expect(found.map(({ file }) => file)).toEqual(["scripts/bad.ts"]);
});

test("a cycle between two files is an error in both", async () => {
  using tree = new ProbeTree();
  tree.write("sdk/a.ts", 'import { b } from "./b.ts";\nexport const a = () => b;');
  tree.write("sdk/b.ts", 'import { a } from "./a.ts";\nexport const b = () => a;');
  const found = (await tree.lint()).filter(({ rule }) => rule === "import(no-cycle)");
  expect(found.map(({ file }) => file).toSorted()).toEqual(["sdk/a.ts", "sdk/b.ts"]);
});

test("a floating promise is an error, also one that only the types show", async () => {
  using tree = new ProbeTree();
  tree.write("scripts/late.ts", "export async function late(): Promise<void> {}");
  tree.write(
    "scripts/floating.ts",
    'import { late } from "./late.ts";\nconst later = late;\nlater();\nawait later();\nvoid later();',
  );
  const found = (await tree.lint("--type-aware")).filter(
    ({ rule }) => rule === "typescript(no-floating-promises)",
  );
  expect(found.map(({ file, line }) => `${file}:${line}`)).toEqual(["scripts/floating.ts:3"]);
});

/** The files of the project, tests and scripts included, that are longer than 300 lines. */
function longFiles(): string[] {
  const elsewhere = ["node_modules", "dist", ".svc", ".wrangler", ".git"];
  const code = globSync("**/*.{ts,tsx,mjs,js,sh,css,sql}", {
    exclude: (name) => elsewhere.includes(name) || name === "worker-configuration.d.ts",
  });
  expect(code.length).toBeGreaterThan(20);
  return code.filter((name) => readFileSync(name, "utf8").split("\n").length - 1 > 300);
}

test("no file of the project is longer than 300 lines but the tables that are listed with their reason", () => {
  expect(longFiles().toSorted()).toEqual(Object.keys(LONG_TABLES).toSorted());
  for (const reason of Object.values(LONG_TABLES)) expect(reason).toMatch(/\w+ \w+/);
});
