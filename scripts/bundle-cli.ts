import { chmod, mkdir, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";

// Packages that are no modules call require, which modules have not.
const REQUIRE =
  'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);';

/** Makes the command `svc` one file for Node, packages included. */
export async function bundleCli(): Promise<string> {
  const result = await build({
    entryPoints: ["cli/main.ts"],
    bundle: true,
    minify: true,
    platform: "node",
    // The other form of jsonc-parser requires its files by names that no bundler follows.
    mainFields: ["module", "main"],
    format: "esm",
    target: "node20.12",
    banner: { js: `#!/usr/bin/env node\n${REQUIRE}` },
    // Faster codecs that ws takes where somebody has installed them.
    external: ["bufferutil", "utf-8-validate"],
    write: false,
    logLevel: "warning",
  });
  const [file] = result.outputFiles;
  if (!file) throw new Error("esbuild wrote nothing");
  return file.text;
}

/** Writes the file that the package runs. */
export async function writeCli(path = "cli/dist/svc.js"): Promise<void> {
  const text = await bundleCli();
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
  await chmod(path, 0o755);
  console.log(`${path} has ${text.length} bytes`);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) await writeCli();
