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
