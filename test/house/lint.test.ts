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

const VALUE = (other: string) => `import { ${other} } from "./${other}.ts";`;
const TYPE = (other: string) => `import type { ${other} } from "./${other}.ts";`;
const NAMED = (other: string) => `import { type ${other} } from "./${other}.ts";`;
const EXPORT = (other: string) => `export type { ${other} } from "./${other}.ts";`;
const ALL = (other: string) => `export * from "./${other}.ts";`;

/** The files that the linter finds in a circle, of three that import each other in a ring. */
async function inCircle(folder: string, imports: ((other: string) => string)[]): Promise<string[]> {
  const names = ["a", "b", "c"].slice(0, imports.length);
  using tree = new ProbeTree();
  for (const [at, statement] of imports.entries()) {
    const other = names[(at + 1) % names.length] ?? "";
    tree.write(`${folder}/${names[at]}.ts`, `${statement(other)}\nexport class ${names[at]} {}`);
  }
  const found = (await tree.lint()).filter(({ rule }) => rule === "import(no-cycle)");
  return [...new Set(found.map(({ file }) => file))].toSorted();
}

test.each([
  ["values", [VALUE, VALUE]],
  ["types", [TYPE, TYPE]],
  ["names that are types", [NAMED, NAMED]],
  ["re-exported types", [EXPORT, TYPE]],
  ["re-exports of all", [ALL, TYPE]],
  ["a value one way and a type the other", [VALUE, TYPE]],
  ["types over three files", [TYPE, NAMED, EXPORT]],
])("a circle of imports by %s is an error in each of its files", async (_name, imports) => {
  const files = ["a", "b", "c"].slice(0, imports.length);
  for (const folder of ["sdk", "vm-host/states", "test/gateway", "scripts"]) {
    expect(await inCircle(folder, imports)).toEqual(files.map((name) => `${folder}/${name}.ts`));
  }
});

test("a type that is imported inside a type is refused: the circle that it may close is not seen", async () => {
  using tree = new ProbeTree();
  tree.write("sdk/a.ts", 'export type A = import("./b.ts").B;');
  const found = await tree.lint();
  expect(found.map(({ rule }) => rule)).toEqual(["typescript(consistent-type-imports)"]);
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
  // What lies in public is made of sources that are looked at where they are.
  const elsewhere = ["node_modules", "dist", "public", ".svc", ".wrangler", ".git"];
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
