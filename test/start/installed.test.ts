import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { isInstalled } from "../../scripts/installed.mjs";

const HERE = { os: [process.platform], cpu: [process.arch] };
const WANTED = {
  "": { version: "1.0.0" },
  contract: { version: "1.0.0" },
  "node_modules/a": { version: "1.0.0", integrity: "x" },
  "node_modules/native": { version: "1.0.0", integrity: "y", optional: true, ...HERE },
  "node_modules/foreign": { version: "1.0.0", integrity: "z", optional: true, os: ["aix"] },
  "node_modules/fallback": { version: "1.0.0", integrity: "v", optional: true },
};
const { "": _root, "node_modules/foreign": _foreign, ...rest } = WANTED;
const { "node_modules/fallback": _fallback, ...PRESENT } = rest;

let root = "";
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "svc-installed-"));
  mkdirSync(join(root, "node_modules"));
  lock("package-lock.json", WANTED);
});
afterEach(() => rmSync(root, { recursive: true }));

function lock(file: string, packages: object): void {
  writeFileSync(join(root, file), JSON.stringify({ packages }));
}

test.each([
  ["everything that fits this machine is there", true, PRESENT],
  ["the fallback is there too", true, rest],
  ["a package has another version", false, { ...PRESENT, "node_modules/a": { version: "1.0.1" } }],
  ["a package is of another make", false, { ...PRESENT, "node_modules/a": { version: "1.0.0" } }],
  ["a native package is missing", false, { ...PRESENT, "node_modules/native": undefined }],
  ["a package is there that is no longer wanted", false, { ...PRESENT, "node_modules/b": {} }],
])("when %s, installed is %s", (_name, expected, packages) => {
  lock("node_modules/.package-lock.json", packages);
  expect(isInstalled(root)).toBe(expected);
});

test("an install that broke off does not count: npm writes its list last", () => {
  expect(isInstalled(root)).toBe(false);
});

test("a list cut in the middle does not count", () => {
  writeFileSync(join(root, "node_modules/.package-lock.json"), '{"packages":{');
  expect(isInstalled(root)).toBe(false);
});
