// Guards the pages that people write: files, links, functions and tests that they name are there.
import { existsSync, globSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { describe, expect, test } from "vitest";

const ROOTS = readdirSync(".");
const ROOM_PAGES = globSync("*/README.md", { exclude: ["docs/README.md"] });
const PAGES = [
  "README.md",
  "CONTRIBUTING.md",
  ...globSync("skills/*/SKILL.md"),
  ...globSync("docs/**/*.md"),
  ...ROOM_PAGES,
];
/** What a build or a start makes: git ignores it. */
const MADE = /(^|\/)(dist|\.svc)\//;
const SOURCE = /\.(ts|mjs|sh|sql|toml|md)$/;

const read = (page: string): string => readFileSync(page, "utf8");
const withoutBlocks = (text: string): string => text.replaceAll(/^```[\s\S]*?^```$/gm, "");

/** What stands in back-ticks on a page and looks like a file or folder of the tree. */
function pathsOn(page: string): string[] {
  const quoted = [...withoutBlocks(read(page)).matchAll(/`([\w.*{},/-]+)`/g)];
  return quoted.map(([, text = ""]) => text).filter((text) => isPath(page, text));
}

function isPath(page: string, text: string): boolean {
  const [first = "", ...rest] = text.split("/");
  // A route.
  if (first === "" || MADE.test(text)) return false;
  if (rest.length > 0 && ROOTS.includes(first)) return true;
  if (SOURCE.test(text)) return !/^[\w.]*$/.test(text) || text.endsWith(".ts");
  return ROOM_PAGES.includes(page) && existsSync(join(dirname(page), first)) && rest.length > 0;
}

/** Every page names files from the root on. A room's page also names them from the room on, or by their last name. */
function isThere(page: string, path: string): boolean {
  const room = dirname(page);
  const patterns = ROOM_PAGES.includes(page)
    ? [path, join(room, path), join(room, "**", path)]
    : [path];
  return patterns.some((pattern) => globSync(pattern).length > 0);
}

/** The links of a page to other pages of the tree, with their anchors. */
function linksOn(page: string): { target: string; anchor: string }[] {
  const links = [...withoutBlocks(read(page)).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g)];
  return links.map(([, file = "", anchor = ""]) => ({
    target: file === "" ? page : normalize(join(dirname(page), file)),
    anchor,
  }));
}

const anchorsOf = (page: string): string[] =>
  [...read(page).matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\s-]/g, "")
      .replaceAll(/\s/g, "-"),
  );

describe.each(PAGES)("%s", (page) => {
  test("every file and folder that the page names is in the tree", () => {
    expect(pathsOn(page).filter((path) => !isThere(page, path))).toEqual([]);
  });

  test("every link of the page leads to a page and a heading that are there", () => {
    const broken = linksOn(page).filter(
      ({ target, anchor }) =>
        !existsSync(target) || (anchor !== "" && !anchorsOf(target).includes(anchor)),
    );
    expect(broken).toEqual([]);
  });
});

test("each hop of the three requests names a function that its file has", () => {
  const rows = [
    ...read("docs/ARCHITECTURE.md").matchAll(/^\| `([\w./-]+\.ts)` +\| `(#?\w+)` +\|/gm),
  ];
  expect(rows.length).toBeGreaterThan(40);
  const lost = rows.filter(
    ([, file = "", name = ""]) => !new RegExp(`(^|[^.\\w])${name}\\b`, "m").test(read(file)),
  );
  expect(lost.map(([, file, name]) => `${file} ${name}`)).toEqual([]);
});

test("each hazard of a saved machine names tests that are there", () => {
  const named = [
    ...read("docs/FORK-SAFETY.md").matchAll(/`(test\/[\w./-]+)`: ("[^"]+"(?:, "[^"]+")*)/g),
  ].flatMap(([, file = "", names = ""]) =>
    [...names.matchAll(/"([^"]+)"/g)].map(([, name = ""]) => ({ file, name })),
  );
  expect(named.length).toBeGreaterThan(15);
  expect(named.filter(({ file, name }) => !read(file).includes(name))).toEqual([]);
});
