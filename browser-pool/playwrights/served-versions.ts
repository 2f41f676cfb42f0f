import { WIRE_VERSIONS, type WireVersion } from "@svc/contract/browser/wire-versions.ts";

/** A Playwright that is built otherwise than the versions that were confined: it must not be served. */
export class UnknownPlaywright extends Error {
  constructor() {
    super("this Playwright is built otherwise than those that were confined");
  }
}

/** The wire versions that this pool serves: all but those whose Playwright could not be confined. */
export class ServedVersions {
  readonly #refused = new Set<WireVersion>();

  /** Newest first. */
  get list(): WireVersion[] {
    return WIRE_VERSIONS.filter((version) => !this.#refused.has(version));
  }

  /** The version of a client that names none; null when nothing can be served. */
  get newest(): WireVersion | null {
    return this.list[0] ?? null;
  }

  /** The version under this name, when it is served. */
  find(name: string): WireVersion | null {
    return this.list.find((version) => version === name) ?? null;
  }

  /** Serves a version no more: its Playwright cannot be confined. */
  refuse(version: WireVersion): void {
    this.#refused.add(version);
  }
}
