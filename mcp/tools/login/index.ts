import type { Tool } from "../../tool.ts";

/** Tools that log in. */
export const loginTools: readonly Tool[] = [];
