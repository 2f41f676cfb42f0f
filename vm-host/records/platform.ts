import type { SnapshotPlatform } from "@svc/contract/host-protocol/vm-states.ts";
import type { GoldenMachine, MachineSpec, VmDriver } from "../driver.ts";

/** What a record of this machine needs to go on; `golden` is what its pages differ from. */
export function platformOf(
  { platform }: VmDriver,
  { image }: Pick<MachineSpec, "image">,
  golden: GoldenMachine | null,
): SnapshotPlatform {
  // `template` is the word of the wire for a golden machine.
  const template = golden && nameOfGolden(golden);
  return { ...platform, kernel: image.kernel, image: image.image, template };
}

/** What records call a golden machine, on whichever host. */
export function nameOfGolden({ key, digest, origin }: GoldenMachine): {
  key: string;
  digest: string;
} {
  return origin ?? { key, digest };
}

/** What differs, or null. Whether the golden machine is there is another question. */
export function platformFault(wanted: SnapshotPlatform, here: SnapshotPlatform): string | null {
  const names = ["driver", "accelerator", "qemu", "machine", "cpu", "kernel", "image"] as const;
  const found = names.find((name) => wanted[name] !== here[name]);
  return found === undefined
    ? null
    : `The snapshot is of ${found} ${wanted[found]}; here it is ${here[found]}.`;
}
