import { VM_SIZES } from "@svc/contract/vm/machine.ts";
import type { Made } from "./maker.ts";

/** Lets disk and file system grow to what is asked for; an image's own size is the least. */
export async function grownDisk(
  { machine, guest }: Pick<Made, "machine" | "guest">,
  askedGb: number,
): Promise<number> {
  const { sizeGb } = machine.spec.image;
  const diskGb = Math.min(VM_SIZES.diskGb.most, Math.max(askedGb, sizeGb));
  if (diskGb === sizeGb) return diskGb;
  await machine.growDisk(diskGb);
  const { exitCode, stderr } = await guest.exec({ cmd: "resize2fs", args: ["/dev/vda"] });
  if (exitCode !== 0) throw new Error(`the disk did not grow: ${stderr}`);
  return diskGb;
}
