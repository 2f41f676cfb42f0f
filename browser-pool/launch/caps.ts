import type { Caps } from "@svc/host-kit/cgroups.ts";

/** The caps of a browser, and of a Playwright process. A renderer has some fifteen threads. */
export const SLOT_CAPS: Caps = { memoryBytes: 2 * 1024 ** 3, tasks: 4_096 };
