import { Cgroups } from "@svc/host-kit/cgroups.ts";
import type { VmHostConfig } from "./config.ts";
import { type Run, openRun } from "./janitor.ts";
import { Egress } from "./network/egress.ts";
import { Confinement } from "./qemu/confinement.ts";
import { qemuVersion } from "./qemu/platform.ts";

/** What a computer allows its host. */
export interface Abilities {
  isConfined: boolean;
  /** Memory and tasks of each machine are capped. */
  isCapped: boolean;
  hasEgress: boolean;
  /** The version of QEMU, or null where there is none. */
  qemu: string | null;
}

/** What this computer gives its host. */
export interface Computer {
  run: Run;
  confinement: Confinement | null;
  cgroups: Cgroups | null;
  egress: Egress | null;
  abilities: Abilities;
}

/** Takes it, and removes what hosts that were killed have left on it. */
export async function openComputer({
  stateDir,
  cacheDir,
  egressAllow,
}: VmHostConfig): Promise<Computer> {
  const run = await openRun(stateDir, cacheDir);
  const confinement = Confinement.of(run.seed);
  const cgroups = confinement && (await Cgroups.make(run.name));
  const egress = await Egress.open(run.name, confinement, egressAllow);
  const abilities = {
    isConfined: confinement !== null,
    isCapped: cgroups !== null,
    hasEgress: egress !== null,
    qemu: await qemuVersion(),
  };
  return { run, confinement, cgroups, egress, abilities };
}
