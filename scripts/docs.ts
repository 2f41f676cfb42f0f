import { readFile, writeFile } from "node:fs/promises";
import { apiDocument } from "./docs/api.ts";
import { configurationDocument } from "./docs/configuration.ts";
import { llmsText } from "./docs/llms.ts";
import { openapi } from "./docs/openapi.ts";
import { versionsDocument } from "./docs/versions.ts";

/** Every file that is made from the contract and from the schemas of the settings. `--check` says which is stale and changes nothing. */
const FILES: Record<string, () => string> = {
  "docs/API.md": apiDocument,
  "docs/CONFIGURATION.md": configurationDocument,
  "docs/VERSIONS.md": versionsDocument,
  "public/llms.txt": llmsText,
  "public/openapi.json": () => `${JSON.stringify(openapi(), null, 2)}\n`,
};

const isCheck = process.argv.includes("--check");
for (const [path, make] of Object.entries(FILES)) {
  const text = make();
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
