import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build, stop } from "esbuild";

const ENTRY = `
import { serveLocal } from "./mcp/stdio.ts";
process.exit(await serveLocal());
`;

/** Bundles the local tool server to one file for Node 18 and newer. The same sources give the same bytes. */
export async function bundleMcp(): Promise<string> {
  const result = await build({
    stdin: { contents: ENTRY, resolveDir: ".", sourcefile: "mcp-main.ts", loader: "ts" },
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node18",
    minify: true,
    keepNames: true,
    legalComments: "inline",
    // ws is CommonJS, and asks for modules of Node.
    banner: {
      js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);',
    },
    write: false,
    logLevel: "warning",
  });
  await stop();
  const [file] = result.outputFiles;
  if (!file) throw new Error("esbuild wrote nothing");
  return file.text;
}

/** Writes the file, and answers where. */
export async function writeMcp(folder = "mcp/dist"): Promise<string> {
  await mkdir(folder, { recursive: true });
  const path = join(folder, "stdio.mjs");
  await writeFile(path, await bundleMcp());
  return path;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) console.log(await writeMcp());
