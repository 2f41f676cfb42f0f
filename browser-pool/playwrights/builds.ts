import { createRequire } from "node:module";
import type { BrowserKind } from "@svc/contract/browser/session.ts";
import { WIRE_VERSIONS, type WireVersion } from "@svc/contract/browser/wire-versions.ts";

/** Patchright: a Playwright of this minor that leaves no marks of its own in pages. */
const UNMARKED = "1.63-patchright";
const UNMARKED_VERSION: WireVersion = "1.63";
const UNMARKED_PACKAGE = "patchright-core";

/** A Playwright package by name: that of a minor, or the one without marks. */
export type BuildName = WireVersion | typeof UNMARKED;

/** The build under this name; null when there is none. */
export function findBuild(name: string): BuildName | null {
  return name === UNMARKED ? UNMARKED : (WIRE_VERSIONS.find((version) => version === name) ?? null);
}

/** The minor that a build speaks. */
export const versionOf = (build: BuildName): WireVersion =>
  build === UNMARKED ? UNMARKED_VERSION : build;

/** Chooses the build that serves a minor in a browser of a kind. */
export class Builds {
  #hasUnmarked = isInstalled(UNMARKED_PACKAGE);

  /** Stealth browsers are driven without marks where a package does that; the package is optional. */
  of(version: WireVersion, kind: BrowserKind): BuildName {
    const isWanted = kind === "stealth" && version === UNMARKED_VERSION;
    return isWanted && this.#hasUnmarked ? UNMARKED : version;
  }

  /** Uses the build without marks no more: it cannot be confined. */
  refuseUnmarked(): void {
    this.#hasUnmarked = false;
  }
}

function isInstalled(name: string): boolean {
  try {
    return createRequire(import.meta.url).resolve(name) !== "";
  } catch {
    return false;
  }
}
