import type { Caps } from "@svc/host-kit/cgroups.ts";

const MIB = 1024 ** 2;

/** The disk of a slot, which lies in memory: profile, caches, downloads of /cdp. More is refused as on a full disk. */
export const SLOT_DISK_BYTES = 512 * MIB;
/** `/tmp` of a slot, and of a Playwright process. */
export const TMP_BYTES = 256 * MIB;

/** The cap of a session's uploads, downloads, videos and traces on /ws. A session beyond the cap is ended. */
export const FILES_CAP = { bytes: 2_048 * MIB, entries: 50_000 };

/** The caps of a browser, with its disk. A renderer has some fifteen threads. */
export const SLOT_CAPS: Caps = {
  memoryBytes: 2_048 * MIB + SLOT_DISK_BYTES,
  tasks: 4_096,
  cores: 2,
};

/** The caps of a Playwright process, which serves one org: one thread that works, and few that help it. */
export const PLAYWRIGHT_CAPS: Caps = { memoryBytes: 1_024 * MIB, tasks: 256, cores: 1 };
