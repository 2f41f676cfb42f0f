import { globSync, readFileSync } from "node:fs";

/** Every page that people write, but those of rooms, which have no programs. */
export const PAGES: readonly string[] = [
  "README.md",
  "CONTRIBUTING.md",
  "skills/svc/SKILL.md",
  ...globSync("docs/**/*.md").toSorted(),
];

/** The text between two fences of a page. */
export interface Block {
  page: string;
  language: string;
  code: string;
}

/** The blocks of a page, in its order. */
export function blocksOf(page: string): Block[] {
  const fences = readFileSync(page, "utf8").matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm);
  return [...fences].map(([, language = "", code = ""]) => ({ page, language, code }));
}

/** Languages whose blocks are programs, and the one that they are all run as. */
const LANGUAGES: Readonly<Record<string, Program["language"]>> = {
  sh: "sh",
  js: "node",
  ts: "node",
  python: "python",
};

export const isProgram = ({ language }: Block): boolean => Object.hasOwn(LANGUAGES, language);

/** The blocks that a reader runs as one program: each goes on where the block before ended. */
export interface Program {
  page: string;
  language: "sh" | "node" | "python";
  code: string;
}

/**
 * The programs of some blocks, in the order in which they begin. All shell blocks of a page are typed into one shell; in the
 * other languages a block that begins with an import begins a new program.
 */
export function programsOf(blocks: readonly Block[]): Program[] {
  const programs: Program[] = [];
  for (const { page, language, code } of blocks) {
    const runAs = LANGUAGES[language];
    if (!runAs) continue;
    const last = programs.findLast((program) => program.language === runAs);
    const goesOn = runAs === "sh" || !/^(\/\/.*\n)*(import|from) /.test(code);
    if (last && goesOn) last.code += code;
    else programs.push({ page, language: runAs, code });
  }
  return programs;
}

const escaped = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&");

/** The lines that a program promises to print (`# → …`, `// → …`), as one pattern. `…` is any text of a line. */
export function promiseOf({ code }: Program): RegExp {
  const lines = [...code.matchAll(/^\s*(?:#|\/\/) → (.*)$/gm)].map(([, line = ""]) =>
    line.split("…").map(escaped).join("[^\\n]*"),
  );
  return new RegExp(lines.map((line) => `^${line}$`).join("[^]*?"), "m");
}
