import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { rolldown } from "rolldown";

/** The entries of the sdk. */
const ENTRIES = { index: "sdk/index.ts", cdp: "sdk/cdp.ts" } as const;

/** Makes each entry one file of JavaScript for every runtime. The same sources give the same bytes. */
export async function bundleSdk(): Promise<Record<"index.js" | "cdp.js", string>> {
  const bundle = async (input: string): Promise<string> => {
    // rolldown's result is smaller than that of esbuild.
    const build = await rolldown({ input, platform: "neutral" });
    const { output } = await build.generate({ format: "esm", minify: true, comments: false });
    await build.close();
    const [{ code, imports, dynamicImports }, ...others] = output;
    if (others.length > 0 || imports.length > 0 || dynamicImports.length > 0)
      throw new Error(`${input} is more than one file: ${[...imports, ...dynamicImports].join()}`);
    return code;
  };
  return { "index.js": await bundle(ENTRIES.index), "cdp.js": await bundle(ENTRIES.cdp) };
}

/** Writes the files where the package's exports name them. */
export async function writeSdk(folder = "sdk/dist"): Promise<void> {
  await mkdir(folder, { recursive: true });
  const files = await bundleSdk();
  for (const [name, code] of Object.entries(files)) {
    // Whole or not at all: another program may be reading it.
    const draft = join(folder, `.${name}.${process.pid}.new`);
    await writeFile(draft, code);
    await rename(draft, join(folder, name));
  }
  const { length } = gzipSync(files["index.js"], { level: 9 });
  console.log(`${folder}/index.js has ${length} bytes in gzip`);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) await writeSdk();
