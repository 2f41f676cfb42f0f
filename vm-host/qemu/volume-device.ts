import { setTimeout as pause } from "node:timers/promises";
import * as z from "zod";
import type { MountedVolume } from "../disk/mounted-volume.ts";
import type { Qmp } from "./qmp.ts";

const GONE_MS = 30_000;
const LOOK_MS = 20;

const Devices = z.array(z.object({ name: z.string() }));

/** Where the bytes of a volume are, as QEMU is told on its command line or later. */
export function nodeOf({ slot, sizeBytes, file }: MountedVolume): Record<string, unknown> {
  const node = { "node-name": nodeName(slot) };
  if (file === null) return { ...node, driver: "null-co", size: sizeBytes, "read-zeroes": true };
  // What the guest frees, and zeros that it writes, take no space here.
  const sparse = { discard: "unmap", "detect-zeroes": "unmap" };
  return {
    ...node,
    ...sparse,
    driver: "raw",
    file: { driver: "file", filename: file, discard: "unmap" },
  };
}

/** The disk that the guest sees. A full disk of the host is an error there, not a machine that stands still. */
export function deviceOf({ slot, serial }: MountedVolume): Record<string, unknown> {
  const errors = { werror: "report", rerror: "report" };
  const place = { id: deviceId(slot), drive: nodeName(slot), bus: `hp${slot}` };
  return { driver: "virtio-blk-pci", ...place, serial, ...errors };
}

export const nodeName = (slot: number): string => `vol${slot}`;
const deviceId = (slot: number): string => `volume${slot}`;

type Monitor = Pick<Qmp, "execute">;

/** Plugs a volume into a running machine: all of it or nothing. */
export async function plugIn(monitor: Monitor, volume: MountedVolume): Promise<void> {
  await monitor.execute("blockdev-add", nodeOf(volume));
  try {
    await monitor.execute("device_add", deviceOf(volume));
  } catch (error) {
    await removeNode(monitor, volume.slot).catch(() => null);
    throw error;
  }
}

/** Takes it out once the guest agrees. */
export async function pullOut(monitor: Monitor, slot: number): Promise<void> {
  await monitor.execute("device_del", { id: deviceId(slot) });
  const until = Date.now() + GONE_MS;
  while (await isHeld(monitor, slot)) {
    if (Date.now() > until) throw new Error("the guest does not let go of a volume");
    await pause(LOOK_MS);
  }
}

/** Whether a volume is still in use. The device is gone a moment before what it was plugged to is free. */
async function isHeld(monitor: Monitor, slot: number): Promise<boolean> {
  if (await hasDevice(monitor, slot)) return true;
  return removeNode(monitor, slot).then(
    () => false,
    () => true,
  );
}

async function hasDevice(monitor: Monitor, slot: number): Promise<boolean> {
  const found = Devices.parse(await monitor.execute("qom-list", { path: "/machine/peripheral" }));
  return found.some(({ name }) => name === deviceId(slot));
}

async function removeNode(monitor: Monitor, slot: number): Promise<void> {
  await monitor.execute("blockdev-del", { "node-name": nodeName(slot) });
}
