import type { Tool } from "../../tool.ts";
import { list } from "./list.ts";

/** Tools of sandboxes and desktops. */
export const machineTools: readonly Tool[] = [list];
