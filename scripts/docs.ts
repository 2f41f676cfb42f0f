import { readFile, writeFile } from "node:fs/promises";
import { bundleLive } from "./bundle-live.ts";
import { bundlePlayer } from "./bundle-player.ts";
import { apiDocument } from "./docs/api.ts";
import { cliDocument } from "./docs/cli.ts";
import { configurationDocument } from "./docs/configuration.ts";
import { llmsFullText, llmsText } from "./docs/llms.ts";
import { openapi } from "./docs/openapi.ts";
import { toolsDocument } from "./docs/tools.ts";
import { versionsDocument } from "./docs/versions.ts";

/** Every file that is made: from the contract, from the schemas of the settings, from the sources of a page. `--check` says which is stale and changes nothing. */
const FILES: Record<string, () => string | Promise<string>> = {
  "docs/API.md": apiDocument,
  "docs/CLI.md": cliDocument,
  "docs/CONFIGURATION.md": configurationDocument,
  "docs/TOOLS.md": toolsDocument,
  "docs/VERSIONS.md": versionsDocument,
  "public/llms.txt": llmsText,
  "public/llms-full.txt": llmsFullText,
  "public/openapi.json": () => `${JSON.stringify(openapi(), null, 2)}\n`,
  "public/console/live.js": bundleLive,
  "public/replay/player.js": bundlePlayer,
};

const isCheck = process.argv.includes("--check");
for (const [path, make] of Object.entries(FILES)) {
  const text = await make();
  const before = await readFile(path, "utf8").catch(() => "");
  if (before === text) continue;
  if (isCheck) {
    console.error(`${path} is stale: run npm run docs`);
    process.exitCode = 1;
  } else {
    await writeFile(path, text);
    console.log(`wrote ${path}`);
  }
}
