import { build, stop } from "esbuild";

/** Bundles the program of the page by which a person acts in a session. The same sources give the same bytes. */
export async function bundleLive(): Promise<string> {
  const result = await build({
    entryPoints: ["console/live/main.ts"],
    bundle: true,
    format: "esm",
    target: ["chrome120", "firefox121", "safari17"],
    minify: true,
    write: false,
    logLevel: "warning",
  });
  await stop();
  const [file] = result.outputFiles;
  if (!file) throw new Error("esbuild wrote nothing");
  return file.text;
}
