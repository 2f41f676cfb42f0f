import { chmodSync, mkdirSync, mkdtempSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cacheDirOf } from "../../../vm-host/config.ts";

/** A cache folder as of another computer: the images of this one, and no template or record. The caller removes it. */
export function otherCache(): string {
  const folder = mkdtempSync(join(tmpdir(), "vmcache-"));
  const cache = cacheDirOf(process.env);
  for (const part of ["images", "layers", "accelerator.json"])
    symlinkSync(join(cache, part), join(folder, part));
  mkdirSync(join(folder, "templates"));
  // Machines' users pass through.
  chmodSync(folder, 0o755);
  return folder;
}
