// Plain JavaScript: wrangler runs it before a deploy (wrangler.toml), under whatever Node the machine has.
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
} from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const FOLDER = fileURLToPath(new URL("../public/docs/", import.meta.url));
const FILES = [
  "swagger-ui-bundle.js",
  "swagger-ui-bundle.js.LICENSE.txt",
  "swagger-ui.css",
  "LICENSE",
  "NOTICE",
];

/**
 * Copies Swagger UI out of its package to where the page of /docs names it: a folder with its version in the name, whose files
 * never change. Folders of other versions go. Returns the folder's name.
 */
export function placeSwaggerUi() {
  const manifest = createRequire(import.meta.url).resolve("swagger-ui-dist/package.json");
  /** @type {{ version: string }} */
  const { version } = JSON.parse(readFileSync(manifest, "utf8"));
  const name = `swagger-ui-${version}`;
  if (existsSync(join(FOLDER, name))) return name;
  // Whole or not at all: several programs may be at it at once.
  const draft = join(FOLDER, `.${name}.${process.pid}`);
  mkdirSync(draft, { recursive: true });
  for (const file of FILES) copyFileSync(join(dirname(manifest), file), join(draft, file));
  try {
    renameSync(draft, join(FOLDER, name));
  } catch (error) {
    rmSync(draft, { recursive: true });
    if (!existsSync(join(FOLDER, name))) throw error;
  }
  for (const other of readdirSync(FOLDER))
    if (other.startsWith("swagger-ui-") && other !== name)
      rmSync(join(FOLDER, other), { recursive: true });
  return name;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) placeSwaggerUi();
