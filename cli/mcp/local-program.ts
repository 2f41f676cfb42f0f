import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** How a client starts the local server: by the package, or in a clone by the sources. */
export function localProgram(): [string, ...string[]] {
  const launcher = fileURLToPath(new URL("../svc.mjs", import.meta.url));
  return existsSync(launcher) && existsSync(fileURLToPath(new URL("../main.ts", import.meta.url)))
    ? ["node", launcher, "mcp"]
    : ["npx", "-y", "@svc/cli", "mcp"];
}
