// The sdk is one small file without packages, and its entries say what is in it.
import { readFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { bundleSdk } from "../../scripts/bundle-sdk.ts";

const MOST_BYTES = 15_000;
const bundles = await bundleSdk();

test.each(Object.entries(bundles))(
  "%s stays below 15 kB in gzip, and imports nothing",
  (_name, code) => {
    expect(gzipSync(code, { level: 9 }).length).toBeLessThan(MOST_BYTES);
    expect(code).not.toMatch(/\bimport\b|\brequire\(/);
  },
);

test("no schema is in it: neither zod nor what the contract makes of it", () => {
  for (const code of Object.values(bundles)) expect(code).not.toMatch(/\bzod\b|ZodError/i);
});

test("nothing of newer runtimes than Node 18 is called", () => {
  // Names of the newer language and its library; the runtimes' test runs the bundle.
  const NEWER =
    /\.(toSorted|toReversed|toSpliced|groupBy|withResolvers|fromAsync|isDisjointFrom)\(|AbortSignal\.any|Promise\.try/;
  for (const code of Object.values(bundles)) expect(code).not.toMatch(NEWER);
});

test("the package has no dependency at run time, and exports what is built", async () => {
  const manifest = JSON.parse(await readFile("sdk/package.json", "utf8")) as {
    dependencies: object;
    exports: Record<string, { default: string }>;
  };
  expect(Object.keys(manifest.dependencies)).toEqual(["@svc/contract"]);
  const built = Object.keys(bundles).map((name) => `./dist/${name}`);
  expect([manifest.exports["."]?.default, manifest.exports["./cdp"]?.default]).toEqual(built);
});
