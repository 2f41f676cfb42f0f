import { readFile } from "node:fs/promises";
import type { HostPlatform } from "@svc/contract/host-protocol/vm-states.ts";
import type { Accelerator } from "../driver.ts";
import { hashOf } from "../images/recipe.ts";
import { run } from "../programs.ts";
import { MACHINE, QEMU, cpuOf } from "./command.ts";

/** The version of QEMU, or null where there is none. */
export async function qemuVersion(): Promise<string | null> {
  const text = await run(QEMU, ["--version"]).catch(() => "");
  return /version (\d[\d.]*)/.exec(text)?.[1] ?? null;
}

/** What every record needs of a host to go on there. */
export async function hostPlatform(
  version: string,
  { name }: Pick<Accelerator, "name">,
): Promise<HostPlatform> {
  return {
    driver: "qemu",
    accelerator: name,
    qemu: version,
    machine: MACHINE,
    cpu: name === "tcg" ? cpuOf(name) : `${cpuOf(name)}:${await hostFlags()}`,
  };
}

/** A machine with the host's own processor cannot go on under a processor that has fewer abilities. */
async function hostFlags(): Promise<string> {
  const text = await readFile("/proc/cpuinfo", "utf8").catch(() => "");
  const lines = /^(model name|flags)\s*:.*$/gm;
  return hashOf([...new Set(text.match(lines))].toSorted());
}
