import { execFile } from "node:child_process";
import { access, constants } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
/** Long enough for a browser that is read from a slow disk for the first time. */
export const TRIAL_MS = 30_000;

/** The version that a Chromium tells; null when the Chromium does not start. */
export function versionOf(chromium: string): Promise<string | null> {
  return run(chromium, ["--version"], { timeout: TRIAL_MS, env: { HOME: "/nonexistent" } }).then(
    ({ stdout }) => /[\d.]{5,}/.exec(stdout)?.[0] ?? null,
    () => null,
  );
}

/** The path of a program of the system; null when the system has none of that name. */
export function onPath(name: string): Promise<string | null> {
  const folders = [...(process.env.PATH ?? "").split(delimiter), "/usr/bin", "/bin", "/usr/sbin"];
  return firstExecutable(folders.filter(Boolean).map((folder) => join(folder, name)));
}

/** The first of these paths at which there is a program. */
export async function firstExecutable(paths: string[]): Promise<string | null> {
  for (const path of paths) {
    const isGood = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isGood) return path;
  }
  return null;
}
