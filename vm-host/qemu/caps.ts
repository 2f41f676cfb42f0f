import type { Caps } from "@svc/host-kit/cgroups.ts";
import type { MachineSpec } from "../driver.ts";

/** What QEMU needs beside the memory of its machine: translated code above all. */
const OVERHEAD_MB = 768;
/** Threads: one a processor, and up to 64 that wait for disks. */
const TASKS = 160;

/** What a machine's process may take of the host. */
export const capsOf = ({ memMb }: MachineSpec): Caps => ({
  memoryBytes: (memMb + OVERHEAD_MB) * 1024 ** 2,
  tasks: TASKS,
});
