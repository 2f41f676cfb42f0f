import type { Caps } from "@svc/host-kit/cgroups.ts";

/** The caps of a browser. A renderer has some fifteen threads. */
export const SLOT_CAPS: Caps = { memoryBytes: 2 * 1024 ** 3, tasks: 4_096, cores: 2 };

/** The caps of a Playwright process, which is one thread that works and few that help it. */
export const PLAYWRIGHT_CAPS: Caps = { memoryBytes: 2 * 1024 ** 3, tasks: 4_096, cores: 1.5 };
