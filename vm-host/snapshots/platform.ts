import { readFile } from "node:fs/promises";
import type { HostPlatform, SnapshotPlatform } from "@svc/contract/host-protocol/vm-states.ts";
import type { MachineSpec, Template, VmDriver } from "../driver.ts";
import { hashOf } from "../images/recipe.ts";
import { MACHINE, cpuOf } from "../qemu/command.ts";

/** What records can go on here, whatever they are of. */
export async function hostPlatform(driver: VmDriver): Promise<HostPlatform> {
  const { name } = driver.accelerator;
  return {
    driver: driver.name,
    accelerator: name,
    qemu: driver.version,
    machine: MACHINE,
    cpu: name === "tcg" ? cpuOf(name) : `${cpuOf(name)}:${await hostFlags()}`,
  };
}

/** What machines of this host run on; the template is the machine's own. */
export async function platformOf(
  driver: VmDriver,
  { image }: Pick<MachineSpec, "image">,
  template: Template | null,
): Promise<SnapshotPlatform> {
  return {
    ...(await hostPlatform(driver)),
    kernel: image.kernel,
    image: image.image,
    template: template && nameOfTemplate(template),
  };
}

/** What records call a template, on whichever host. */
export function nameOfTemplate({ key, digest, origin }: Template): { key: string; digest: string } {
  return origin ?? { key, digest };
}

/** What differs, or null. Which template it is, and whether it is there, is another question. */
export function platformFault(wanted: SnapshotPlatform, here: SnapshotPlatform): string | null {
  const names = ["driver", "accelerator", "qemu", "machine", "cpu", "kernel", "image"] as const;
  const found = names.find((name) => wanted[name] !== here[name]);
  return found === undefined
    ? null
    : `The snapshot is of ${found} ${wanted[found]}; here it is ${here[found]}.`;
}

/** A machine with the host's own processor cannot go on under one that has fewer of its abilities. */
async function hostFlags(): Promise<string> {
  const text = await readFile("/proc/cpuinfo", "utf8").catch(() => "");
  const lines = /^(model name|flags)\s*:.*$/gm;
  return hashOf([...new Set(text.match(lines))].toSorted());
}
