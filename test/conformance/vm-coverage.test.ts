import { readFile } from "node:fs/promises";
import { ERRORS } from "@svc/contract/errors.ts";
import { OPERATIONS } from "@svc/contract/operations/index.ts";
import { describe, expect, test } from "vitest";
import { VM_CODES, VM_STATUS_TABLES } from "./vm-coverage.ts";

const OF_DOCUMENT = /^\/(sandboxes|desktops|files|volumes)\b/;
/** Added by decision: in no table of the document. */
const ADDED = /^\/sandboxes\/:id\/(snapshots|revert|fork)/;

describe("document 2", () => {
  test("has a status table for every operation that the contract has of it", () => {
    const operations = Object.values(OPERATIONS).filter(
      ({ path }) => OF_DOCUMENT.test(path) && !ADDED.test(path),
    );
    const names = operations.map(({ method, path }) => `${method} ${path}`);
    expect(Object.keys(VM_STATUS_TABLES)).toEqual(expect.arrayContaining(names));
  });

  test("names a test for each status that is there", async () => {
    const files = new Set(Object.values(VM_STATUS_TABLES).flatMap((table) => Object.values(table)));
    for (const file of files) expect(await readFile(file, "utf8")).not.toBe("");
  });

  test("has no status that its operation has no code for", () => {
    // Of every route: its credential, a fault of ours, a body above the cap.
    const anywhere = [401, 413, 500];
    const lost = Object.values(OPERATIONS).flatMap(({ method, path, errors, success }) => {
      const name = `${method} ${path}`;
      const known = [success.status, ...errors.map((code) => ERRORS[code].status), ...anywhere];
      const statuses = Object.keys(VM_STATUS_TABLES[name] ?? {}).map(Number);
      return statuses
        .filter((status) => !known.includes(status))
        .map((status) => `${name} ${status}`);
    });
    expect(lost).toEqual([]);
  });

  test.each(Object.entries(VM_CODES))(
    "%s is a code, and a test is answered it",
    async (code, file) => {
      expect(Object.keys(ERRORS)).toContain(code);
      const source = await readFile(file, "utf8");
      expect(source).toContain(`"${code}"`);
    },
  );
});
