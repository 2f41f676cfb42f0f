import childProcess, { ChildProcess } from "node:child_process";
import { existsSync } from "node:fs";
import { isObject } from "../cdp/envelope.ts";
import { UnknownPlaywright } from "../playwrights/served-versions.ts";

/** Encodes the videos of `recordVideo`, with the libraries of the system. */
export const FFMPEG = "/usr/bin/ffmpeg";
const NO_FFMPEG = "This host records no videos: it has no ffmpeg.";
const REFUSED = "No program may be started here.";

/**
 * From now on this process starts no program but ffmpeg: a client may name programs, as Playwright's own user may.
 * ffmpeg has what this process has: no network, and the files of the shared folder.
 */
export function closePrograms(): void {
  // All of Node's ways to start a program without waiting for its end lead through this method.
  const spawn: unknown = Reflect.get(ChildProcess.prototype, "spawn");
  if (typeof spawn !== "function") throw new TypeError("nothing can spawn");
  const refuse = (): never => {
    throw new Error(REFUSED);
  };
  Object.defineProperty(ChildProcess.prototype, "spawn", {
    value(this: ChildProcess, options: unknown): unknown {
      return isObject(options) && options.file === FFMPEG ? spawn.call(this, options) : refuse();
    },
  });
  Object.assign(childProcess, { spawnSync: refuse, execSync: refuse, execFileSync: refuse });
}

/** Makes a Playwright record with the ffmpeg of the system. `insides`: what its package keeps to itself. */
export function recordWithSystem(insides: unknown): void {
  const module = isObject(insides) ? insides.registry : null;
  const registry = isObject(module) ? module.registry : null;
  if (!isObject(registry) || typeof registry.findExecutable !== "function")
    throw new UnknownPlaywright();
  const ffmpeg: unknown = registry.findExecutable("ffmpeg");
  if (!isObject(ffmpeg) || typeof ffmpeg.executablePathOrDie !== "function")
    throw new UnknownPlaywright();
  ffmpeg.executablePathOrDie = () => {
    if (!existsSync(FFMPEG)) throw new Error(NO_FFMPEG);
    return FFMPEG;
  };
}
