import { readFile, writeFile } from "node:fs/promises";
import type { Row } from "./detection-site.ts";
import { Lookout } from "./lookout.ts";
import { SUBJECTS as subjects } from "./subjects.ts";

// Writes the table of docs/STEALTH.md anew: `npm run stealth-table`.
const FILE = "docs/STEALTH.md";
const [BEGIN, END] = ["<!-- table: begin -->", "<!-- table: end -->"];
const LONGEST = 60;

const cell = (text: string): string =>
  (text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text).replaceAll("|", "\\|");
const line = (cells: string[]): string => `| ${cells.join(" | ")} |`;

function table(names: string[], byName: Row[][], isCovered: boolean): string {
  const [first = []] = byName;
  const head = [line(["", ...names]), line(["---", ...names.map(() => "---")])];
  const lines = first
    .filter((row) => row.isCovered === isCovered)
    .map(({ check }) => {
      const seen = byName.map((rows) => rows.find((row) => row.check === check));
      return line([
        check,
        ...seen.map((row) => (row ? `${row.ok ? "✓" : "✗"} ${cell(row.seen)}` : "?")),
      ]);
    });
  return [...head, ...lines].join("\n");
}

const found: Row[][] = [];
const lookout = await Lookout.start();
for (const subject of subjects) {
  found.push(await lookout.look(subject));
  console.log(`looked at ${subject.name}`);
}
const names = subjects.map(({ name }) => name);
const text = await readFile(FILE, "utf8");
const [before = ""] = text.split(BEGIN);
const after = text.split(END)[1] ?? "";
const made = [
  BEGIN,
  "",
  table(names, found, true),
  "",
  "What still differs from the computer of a person:",
  "",
  table(names, found, false),
  "",
  END,
].join("\n");
await writeFile(FILE, before + made + after);
await lookout.close();
