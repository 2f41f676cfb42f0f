import type { Refusal } from "./refusal.ts";

const KEPT = 512;

/** Why the latest targets were not reached, by `host:port`: to a browser every failure behind a proxy is the same. */
export class Failures {
  readonly #byTarget = new Map<string, string>();
  #latest: string | null = null;

  note(host: string, port: number, { netError, reason }: Refusal): void {
    const target = `${host.toLowerCase()}:${port}`;
    const text = `net::${netError}${reason === null ? "" : ` (${reason})`}`;
    this.#byTarget.delete(target);
    this.#byTarget.set(target, text);
    this.#latest = text;
    const [oldest] = this.#byTarget.keys();
    if (this.#byTarget.size > KEPT && oldest !== undefined) this.#byTarget.delete(oldest);
  }

  /** The target was reached. */
  forget(host: string, port: number): void {
    this.#byTarget.delete(`${host.toLowerCase()}:${port}`);
  }

  /** The error that a browser without a proxy would tell for this URL; of the latest failure where no URL is known. */
  textFor(url: string | null): string | null {
    if (url === null || !URL.canParse(url)) return this.#latest;
    const { protocol, hostname, port } = new URL(url);
    const isSecure = protocol === "https:" || protocol === "wss:";
    const host = hostname.replace(/^\[|\]$/g, "");
    return this.#byTarget.get(`${host}:${port || (isSecure ? "443" : "80")}`) ?? null;
  }
}
