import { ToolError } from "../tool.ts";
import type { Machine } from "./connection.ts";

/** The absolute path of a file. A relative one begins in the folder that commands begin in. */
export async function guestPath(
  machine: Machine,
  path: string,
  signal: AbortSignal,
): Promise<string> {
  if (path.split("/").includes(".."))
    throw new ToolError("InvalidPath", `${path} has a .. segment. Write the path without it.`);
  if (path.startsWith("/")) return path;
  const { stdout } = await machine.commands.run("pwd", [], { signal, check: true });
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  return `/${[...stdout.trim().split("/"), ...parts].filter(Boolean).join("/")}`;
}
