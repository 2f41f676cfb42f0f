import type { Tool } from "../tool.ts";
import { browserTools } from "./browser/index.ts";
import { loginTools } from "./login/index.ts";
import { machineTools } from "./machine/index.ts";

/** Parts of the table that a client may ask for alone. */
export const TOOLSETS: Readonly<Record<string, readonly Tool[]>> = {
  browser: [...browserTools, ...loginTools],
  machine: machineTools,
};

/** Every tool there is: the same hosted and local. */
export const TOOLS: readonly Tool[] = [...browserTools, ...loginTools, ...machineTools];

/** The tools of a comma list of toolsets, all of them without a list. Throws UnknownToolset. */
export function toolsOf(list: string | null | undefined): readonly Tool[] {
  const names = (list ?? "").split(",").flatMap((name) => name.trim() || []);
  if (names.length === 0) return TOOLS;
  const unknown = names.find((name) => !Object.hasOwn(TOOLSETS, name));
  if (unknown !== undefined) {
    const known = Object.keys(TOOLSETS).join(", ");
    throw new UnknownToolset(`toolsets: ${unknown} is none; there are ${known}`);
  }
  const wanted = new Set(names.flatMap((name) => TOOLSETS[name] ?? []));
  return TOOLS.filter((tool) => wanted.has(tool));
}

/** A toolset that does not exist was asked for. */
export class UnknownToolset extends Error {
  override name = "UnknownToolset";
}
