import { chmod, chown } from "node:fs/promises";
import { join } from "node:path";
import { FILES } from "../driver.ts";

import type { Confinement } from "./confinement.ts";

/** A machine's user passes a layer on to the next one: nobody writes it again. */
export async function freezeLayer(layer: string, confinement: Confinement | null): Promise<void> {
  if (confinement) await chown(layer, 0, confinement.gid);
  await chmod(layer, confinement ? 0o640 : 0o600);
}

/** Lets machines use the files of a golden machine. */
export async function shareGolden(folder: string, confinement: Confinement | null): Promise<void> {
  for (const file of [FILES.state, FILES.disk]) await chmod(join(folder, file), 0o444);
  const memory = join(folder, FILES.memory);
  // QEMU 7.2 opens a private mapping's file for writing: every machine's user needs the right, though none
  // ever writes. Nobody else gets it.
  if (!confinement) return chmod(memory, 0o600);
  await chown(memory, 0, confinement.gid);
  await chmod(memory, 0o660);
}
