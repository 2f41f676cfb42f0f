import { join } from "node:path";
import type { MountedVolume } from "../disk/mounted-volume.ts";
import { type Accelerator, type MachineSpec, VOLUME_SLOTS } from "../driver.ts";
import { deviceOf, nodeOf } from "./volume-device.ts";

export const QEMU = "qemu-system-x86_64";
/** Pinned: a golden machine of one machine version cannot go on under another. */
export const MACHINE = "pc-q35-7.2";
/** The descriptor under which a clone finds the state it starts from. */
export const STATE_FD = 3;

/** Translated code that QEMU keeps for each processor. With a third of this, large programs are translated over and over. */
const CODE_MB = 64;

const OFF = "usb=off,vmport=off,smbus=off,sata=off,graphics=off";
const CALM = ["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"];
const SANDBOX = "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny";
// `no_timer_check`: on a busy host the kernel finds its timer too slow to be one, and panics.
const KERNEL_LINE = "console=ttyS0 quiet reboot=t panic=1 no_timer_check psi=0 lsm=yama";
/** An emulated processor runs nothing ahead of its turn: what guards against that only takes time. */
const EMULATED = " mitigations=off";

/** The names of a machine's sockets in its folder. */
export const SOCKETS = {
  qmp: "qmp.sock",
  control: "ctl.sock",
  bulk: "bulk.sock",
  writes: "nbd.sock",
} as const;

export interface CommandOptions {
  name: string;
  spec: MachineSpec;
  accelerator: Accelerator["name"];
  /** The machine's own folder: sockets and disk. */
  folder: string;
  disk: string;
  /** A file that is the machine's memory; without one it has memory of its own. */
  memory?: { file: string; isShared: boolean };
  isIncoming: boolean;
  /** What was plugged in when it was saved. */
  volumes?: MountedVolume[];
}

/** What every QEMU of ours runs with, the trial of the accelerator included. */
export function basics(accelerator: string, spec: { cpu: number; memMb: number }): string[] {
  const size = ["-cpu", cpuOf(accelerator), "-smp", String(spec.cpu), "-m", String(spec.memMb)];
  return [...CALM, "-accel", accelOf(accelerator, spec), ...size];
}

// Without a bound QEMU keeps up to 1 GiB of what it has ever translated.
const accelOf = (accelerator: string, { cpu }: { cpu: number }): string =>
  accelerator === "tcg" ? `tcg,tb-size=${cpu * CODE_MB}` : accelerator;

// Emulated, a string instruction takes a turn for each byte: without these flags kernel and libc copy by words.
export const cpuOf = (accelerator: string): string =>
  accelerator === "tcg" ? "max,erms=off" : "host";

export const machineOf = (backend = ""): string[] => ["-M", `${MACHINE},${OFF}${backend}`];

/** The arguments of a machine. No id of a customer is among them: a process list is public. */
export function commandOf(options: CommandOptions): string[] {
  const { name, spec, accelerator, folder, memory, isIncoming } = options;
  const incoming = ["-incoming", "defer", "-S"];
  return [
    ["-name", name],
    basics(accelerator, spec),
    machineOf(",memory-backend=mem"),
    memoryOf(spec.memMb, memory),
    // A clone is past its boot: QEMU would keep kernel and archive in its memory for nothing. A whole stream has a place
    // of theirs among what it loads.
    isIncoming && memory ? [] : kernelOf(spec, accelerator),
    diskOf(options.disk),
    network(),
    ["-device", "virtio-rng-pci", "-device", "virtio-serial-pci"],
    port("c0", join(folder, SOCKETS.control), "svc0"),
    port("c1", join(folder, SOCKETS.bulk), "svc1"),
    volumeSlots(),
    (options.volumes ?? []).flatMap(plugged),
    // In memory, the last of it: a file would grow as long as the guest writes.
    ["-chardev", "ringbuf,id=console,size=65536", "-serial", "chardev:console"],
    ["-qmp", `unix:${join(folder, SOCKETS.qmp)},server=on,wait=off`],
    // A saved state begins with the devices, whichever way it was saved.
    ["-global", "migration.send-configuration=off"],
    isIncoming ? incoming : [],
    ["-sandbox", SANDBOX],
  ].flat();
}

function kernelOf({ image, initrd }: MachineSpec, accelerator: string): string[] {
  const line = accelerator === "tcg" ? KERNEL_LINE + EMULATED : KERNEL_LINE;
  return ["-kernel", image.vmlinuz, "-initrd", initrd.file, "-append", line];
}

/** Always called `mem`: a stream that one machine saved is loaded by another. */
function memoryOf(memMb: number, memory: CommandOptions["memory"]): string[] {
  const size = `id=mem,size=${memMb}M`;
  if (!memory) return ["-object", `memory-backend-ram,${size}`];
  const share = memory.isShared ? "on" : "off";
  const file = `mem-path=${escape(memory.file)},share=${share}`;
  return ["-object", `memory-backend-file,${size},${file}`];
}

function diskOf(file: string): string[] {
  const path = `file.driver=file,file.filename=${escape(file)},file.discard=unmap`;
  return [
    ["-blockdev", `driver=qcow2,node-name=disk0,discard=unmap,${path}`],
    // A full disk of the host is an error in the guest, not a machine that stands still.
    ["-device", "virtio-blk-pci,drive=disk0,id=vd0,werror=report,rerror=report"],
  ].flat();
}

// IPv6 off: the rules for the user's packets know one family, and the guest needs no second.
function network(): string[] {
  return [
    ["-netdev", "user,id=n0,ipv6=off"],
    ["-device", "virtio-net-pci,netdev=n0,id=net0,mac=52:54:00:12:34:56,romfile="],
  ].flat();
}

function port(id: string, path: string, name: string): string[] {
  return [
    ["-chardev", `socket,id=${id},path=${escape(path)},server=on,wait=off`],
    ["-device", `virtserialport,chardev=${id},name=${name}`],
  ].flat();
}

// In the same words as when it was plugged into the running machine.
const plugged = (volume: MountedVolume): string[] => [
  "-blockdev",
  JSON.stringify(nodeOf(volume)),
  "-device",
  JSON.stringify(deviceOf(volume)),
];

function volumeSlots(): string[] {
  const numbers = Array.from({ length: VOLUME_SLOTS }, (_, index) => index + 1);
  return numbers.flatMap((slot) => [
    "-device",
    `pcie-root-port,id=hp${slot - 1},chassis=${slot},slot=${slot}`,
  ]);
}

/** A comma in a path would begin another option. */
const escape = (path: string): string => path.replaceAll(",", ",,");
