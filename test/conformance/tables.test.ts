import { readFile } from "node:fs/promises";
import { ERRORS } from "@svc/contract/errors.ts";
import { OPERATIONS } from "@svc/contract/operations/index.ts";
import type { Operation } from "@svc/contract/operations/operation.ts";
import { describe, expect, test } from "vitest";
import { BROWSER_TABLES } from "./browser-tables.ts";
import { type Row, rowsOf } from "./coverage.ts";
import { blockOf } from "./named-test.ts";
import { VM_ADDITIVE_TABLES, VM_CODES, VM_TABLES } from "./vm-tables.ts";

const VM_ROWS = rowsOf({ ...VM_TABLES, ...VM_ADDITIVE_TABLES });
const ALL_ROWS = [...rowsOf(BROWSER_TABLES), ...VM_ROWS];
const OF_VM = /^\/(sandboxes|desktops|files|volumes)\b/;
/** Added by decision: in no table of the document. */
const ADDED = /^\/(sandboxes\/:id\/(snapshots|revert|fork)|desktops\/:id\/recording-url)/;

const operations: Operation[] = Object.values(OPERATIONS);
const nameOf = ({ method, path }: Operation): string => `${method} ${path}`;
const wordsOf = ({ route, status, code }: Row): string => `${route} ${status} ${code ?? ""}`;

describe("the tables", () => {
  test("of document 2 have every operation that the contract has of it", () => {
    const names = operations
      .filter(({ path }) => OF_VM.test(path) && !ADDED.test(path))
      .map(nameOf);
    expect(Object.keys(VM_TABLES)).toEqual(expect.arrayContaining(names));
  });

  test("of document 2 have nothing that the contract does not know of the operation", () => {
    // Of every route: its credential, a body above the cap, a fault of ours.
    const anywhere = ["Unauthorized", "PayloadTooLarge", "InternalError"];
    const lost = VM_ROWS.filter(({ route, status, code }) => {
      const operation = operations.find((one) => nameOf(one) === route);
      if (!operation) return !/^GET \/(control|stream)\/:id$/.test(route);
      const { success, errors } = operation;
      const codes = [...errors, ...anywhere].filter((name) => statusOf(name) === status);
      return code === null
        ? success.status !== status && codes.length === 0
        : !codes.includes(code);
    });
    expect(lost.map(wordsOf)).toEqual([]);
  });

  test.each(VM_CODES)("have %s somewhere", (code) => {
    expect(VM_ROWS.filter((row) => row.code === code)).not.toEqual([]);
  });

  test("name a test for what no black box can provoke, which is there and speaks of that answer", async () => {
    const rows = ALL_ROWS.filter(({ where }) => typeof where === "object");
    expect(rows.length).toBeGreaterThan(10);
    const lost = await Promise.all(rows.map(whatIsLost));
    expect(lost.flat()).toEqual([]);
  });
});

const statusOf = (code: string): number | undefined =>
  Object.entries(ERRORS).find(([name]) => name === code)?.[1].status;

async function whatIsLost(row: Row): Promise<string[]> {
  if (typeof row.where === "string") return [];
  const { file, test: name } = row.where;
  const block = blockOf(await readFile(file, "utf8"), name);
  if (block === null) return [`${wordsOf(row)}: ${file} has no "${name}"`];
  const [, first = ""] = /^\w+ (\/\w+)/.exec(row.route) ?? [];
  const words = [String(row.status), ...(row.code === null ? [] : [row.code, first])];
  const unsaid = words.filter((word) => !block.includes(word));
  return unsaid.map((word) => `${wordsOf(row)}: "${name}" of ${file} does not say ${word}`);
}
