// Guards that the tests of an operation are found from its name: each has its file under test/gateway.
import { existsSync, readFileSync } from "node:fs";
import { OPERATIONS } from "@svc/contract/operations/index.ts";
import { expect, test } from "vitest";

/** Of each handler that src/app.ts imports, the path of its route file under src/routes, without `.ts`. */
function routes(app: string): Map<string, string> {
  const imports = app.matchAll(/^import \{ ([^}]+) \} from "\.\/routes\/([^"]+)\.ts";$/gm);
  return new Map(
    [...imports].flatMap(([, names = "", route = ""]) =>
      names.split(", ").map((name) => [name, route] as const),
    ),
  );
}

/** The test file of an operation: it stands where the route file of its handler stands. */
function testFileOf(operation: string): string {
  const app = readFileSync("src/app.ts", "utf8");
  const [, handler = operation] = new RegExp(`^ {2}${operation}: (\\w+),$`, "m").exec(app) ?? [];
  return `test/gateway/${routes(app).get(handler) ?? `no route of ${operation}`}.test.ts`;
}

test("every operation of the contract has tests in the file that is named after its route", () => {
  const lost = Object.keys(OPERATIONS)
    .map((operation) => ({ operation, file: testFileOf(operation) }))
    .filter(({ file }) => !existsSync(file) || !/^\s*test[.(]/m.test(readFileSync(file, "utf8")));
  expect(lost).toEqual([]);
});

test.each([
  ["createSession", "test/gateway/sessions/create.test.ts"],
  ["fileDownloadUrl", "test/gateway/files/mint-url.test.ts"],
  ["uploadFileByPost", "test/gateway/files/upload.test.ts"],
  ["health", "test/gateway/health.test.ts"],
  ["somethingNew", "test/gateway/no route of somethingNew.test.ts"],
])("the tests of %s belong in %s", (operation, file) => {
  expect(testFileOf(operation)).toBe(file);
});
