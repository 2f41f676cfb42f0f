import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { rolldown } from "rolldown";

/** The entries of the sdk, each a file of its own without imports. */
const ENTRIES = { "index.js": "sdk/index.ts", "cdp.js": "sdk/cdp.ts" } as const;

/** Makes each entry one file of JavaScript for every runtime. The same sources give the same bytes. */
export async function bundleSdk(): Promise<Record<keyof typeof ENTRIES, string>> {
  const bundle = async (input: string): Promise<string> => {
    // rolldown's result is a tenth smaller than that of esbuild, whose helpers are for older runtimes.
    const build = await rolldown({ input, platform: "neutral" });
    const { output } = await build.generate({ format: "esm", minify: true });
    await build.close();
    const [{ code, imports, dynamicImports }, ...others] = output;
    if (others.length > 0 || imports.length > 0 || dynamicImports.length > 0)
      throw new Error(`${input} is more than one file: ${[...imports, ...dynamicImports].join()}`);
    return code;
  };
  return {
    "index.js": await bundle(ENTRIES["index.js"]),
    "cdp.js": await bundle(ENTRIES["cdp.js"]),
  };
}

/** Writes the files where the package's exports name them. */
export async function writeSdk(folder = "sdk/dist"): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const [name, code] of Object.entries(await bundleSdk())) {
    await writeFile(join(folder, name), code);
    console.log(`${join(folder, name)}: ${gzipSync(code, { level: 9 }).length} bytes in gzip`);
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) await writeSdk();
