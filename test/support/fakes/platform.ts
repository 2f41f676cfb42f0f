import type { VmHeartbeat } from "@svc/contract/host-protocol/vms.ts";
import type { HostPlatform, SnapshotPlatform } from "@svc/contract/host-protocol/vm-states.ts";

/** What fake VM hosts run machines on. */
export const FAKE_HOST_PLATFORM: HostPlatform = {
  driver: "qemu",
  accelerator: "tcg",
  qemu: "7.2.22",
  machine: "pc-q35-7.2",
  cpu: "max",
};

export const FAKE_PLATFORM: SnapshotPlatform = {
  ...FAKE_HOST_PLATFORM,
  kernel: "a kernel",
  image: "an image",
  template: null,
};

/** What a heartbeat of a fake VM host says that has room and an image. */
export const FAKE_ROOM = {
  versions: { qemu: "7.2.22" },
  isolation: "uid",
  egress: "filtered",
  weaknesses: [],
  egressAllow: [],
  warm: 1,
  free: { cpu: 64, memMb: 65_536, diskGb: 100, slots: 20 },
  images: [{ name: "base", state: "ready" }],
} satisfies Partial<VmHeartbeat>;
