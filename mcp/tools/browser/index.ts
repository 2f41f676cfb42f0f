import type { Tool } from "../../tool.ts";
import { browserProfiles } from "./profiles.ts";

/** Tools of browser sessions. */
export const browserTools: readonly Tool[] = [browserProfiles];
