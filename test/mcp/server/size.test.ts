// The sizes of what is loaded before the first call: the Worker, and the one file of the local server.
import { gzipSync } from "node:zlib";
import { isBuiltin } from "node:module";
import { expect, test } from "vitest";
import { bundleMcp } from "../../../scripts/bundle-mcp.ts";
import { bundleWorker } from "../../../scripts/bundle.ts";

const KIB = 1024;

test("the Worker with the tools in it stays below 500 KiB in gzip", async () => {
  expect(gzipSync(await bundleWorker()).length).toBeLessThanOrEqual(500 * KIB);
});

test("the local server is one file that asks for nothing but Node, and its sources always give the same", async () => {
  const text = await bundleMcp();
  const imports = [...text.matchAll(/\bfrom\s*"([^"]+)"|\bimport\s*"([^"]+)"/g)];
  expect(
    imports.map(([, from, bare]) => from ?? bare ?? "").filter((name) => !isBuiltin(name)),
  ).toEqual([]);
  expect(await bundleMcp()).toBe(text);
});
