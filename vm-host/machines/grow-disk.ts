import { VM_SIZES } from "@svc/contract/vm/machine.ts";
import type { Machine } from "../driver.ts";
import type { Guest } from "../guest/guest.ts";

interface DiskMachine {
  machine: Machine;
  guest: Guest;
}

/** Lets disk and file system grow to what is asked for; an image's own size is the least. */
export async function growToAsked(made: DiskMachine, askedGb: number): Promise<number> {
  const { sizeGb } = made.machine.spec.image;
  const diskGb = Math.min(VM_SIZES.diskGb.most, Math.max(askedGb, sizeGb));
  if (diskGb !== sizeGb) await growDisk(made, diskGb);
  return diskGb;
}

export async function growDisk({ machine, guest }: DiskMachine, sizeGb: number): Promise<void> {
  await machine.growDisk(sizeGb);
  const { exitCode, stderr } = await guest.exec({ cmd: "resize2fs", args: ["/dev/vda"] });
  if (exitCode !== 0) throw new Error(`the disk did not grow: ${stderr}`);
}
