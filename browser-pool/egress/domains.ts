import { isIP } from "node:net";

/** The hosts that a session may reach: these names and the names below them, or every host. */
export class Domains {
  #names: ReadonlySet<string> = new Set();

  /** Whether there are hosts that the session may not reach. */
  get isRestricted(): boolean {
    return this.#names.size > 0;
  }

  /** `names`: lower case, without a trailing dot. None: every host. */
  replace(names: readonly string[]): void {
    this.#names = new Set(names);
  }

  /** Whether a host may be reached. An address never is while there are names: nothing says whose it is. */
  has(host: string): boolean {
    if (!this.isRestricted) return true;
    if (isIP(host) > 0) return false;
    let name = host.toLowerCase().replace(/\.$/, "");
    while (!this.#names.has(name)) {
      const dot = name.indexOf(".");
      if (dot < 0) return false;
      name = name.slice(dot + 1);
    }
    return true;
  }
}
