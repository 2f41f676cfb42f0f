import type { Machine } from "../driver.ts";
import type { Guest } from "../guest/guest.ts";
import { type MountedVolume, changedAt, shallowFirst } from "../disk/mounted-volume.ts";

/** A machine's ends that a volume needs. */
export interface Ends {
  machine: Machine;
  guest: Guest;
}

/** What a stopped machine has, with the state of each image that its memory fits. */
export function marked(volumes: readonly MountedVolume[]): Promise<MountedVolume[]> {
  return Promise.all(
    volumes.map(async (volume) => {
      if (volume.file === null) return volume;
      return { ...volume, changedAt: await changedAt(volume.file) };
    }),
  );
}

/**
 * The volumes that a machine finds plugged in when it starts from a record: its own image if nobody wrote that since.
 * Otherwise an empty disk, because the machine's memory would destroy the newer image.
 */
export function fitting(volumes: MountedVolume[], isOwn: boolean): Promise<MountedVolume[]> {
  return Promise.all(
    volumes.map(async (volume) => {
      const { file, changedAt: then } = volume;
      const now = file !== null && isOwn ? await changedAt(file).catch(() => null) : null;
      return now !== null && now === then ? volume : { ...volume, file: null };
    }),
  );
}

/** Takes the throw-aways out of a machine that began from a record: the volumes that its memory knows are not its own. */
export async function dropThrowaways({ machine, guest }: Ends): Promise<void> {
  const volumes = machine.volumes.filter(({ file }) => file === null);
  for (const volume of shallowFirst(volumes).toReversed()) {
    await guest.unmountVolume(volume, true);
    await machine.unplug(volume.slot);
  }
}
