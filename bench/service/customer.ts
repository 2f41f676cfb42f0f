import { Profile } from "@svc/contract/browser/profile.ts";
import { SessionCreated, SessionList, SessionRecord } from "@svc/contract/browser/session.ts";

const CALL_MS = 60_000;
const PAGES = 100;

/** A call that was answered, but not with success. */
export class Refused extends Error {
  readonly status: number;

  constructor(call: string, status: number, body: string) {
    super(`${call} answered ${status} ${body.slice(0, 200)}`);
    this.status = status;
  }
}

/** What the benches ask of a session. */
export interface SessionAsk {
  lease?: { idleSeconds: number };
  profileId?: string;
  stealth?: boolean;
  recording?: boolean;
  allowedDomains?: string[];
  proxy?: string;
}

/** A caller of the browser API. */
export class Customer {
  readonly base: string;
  readonly key: string;

  constructor(base: string, key: string) {
    this.base = base;
    this.key = key;
  }

  async create(ask: SessionAsk = {}): Promise<SessionCreated> {
    return SessionCreated.parse(JSON.parse(await this.#call("POST", "/sessions", ask)));
  }

  /** Resolves when the release is acknowledged. */
  async release(id: string): Promise<void> {
    await this.#call("DELETE", `/sessions/${id}`);
  }

  /** Replaces the allowed domains of a session. */
  async confine(id: string, domains: string[]): Promise<void> {
    await this.#call("POST", `/sessions/${id}/allowed-domains`, { domains });
  }

  async read(id: string): Promise<SessionRecord> {
    return SessionRecord.parse(JSON.parse(await this.#call("GET", `/sessions/${id}`)));
  }

  /** A profile with this state; one that was never saved without it. */
  async newProfile(name: string, storageState?: object): Promise<string> {
    const { id } = Profile.parse(JSON.parse(await this.#call("POST", "/profiles", { name })));
    if (storageState) await this.#call("POST", `/profiles/${id}/save`, { storageState });
    return id;
  }

  /** Saves the live browser of a session in the profile that it began with. */
  async saveProfile(id: string): Promise<void> {
    await this.#call("POST", `/sessions/${id}/save-profile`, {});
  }

  /** Every session with this status. */
  async list(status: "active" | "unknown"): Promise<SessionRecord[]> {
    const found: SessionRecord[] = [];
    let cursor = "";
    for (let page = 0; page < PAGES; page += 1) {
      const query = `status=${status}&limit=100${cursor}`;
      const list = SessionList.parse(JSON.parse(await this.#call("GET", `/sessions?${query}`)));
      found.push(...list.sessions);
      if (list.nextCursor === undefined) return found;
      cursor = `&cursor=${list.nextCursor}`;
    }
    throw new Error("the list of sessions has no end");
  }

  async #call(method: string, path: string, body?: object): Promise<string> {
    const response = await fetch(new URL(path, this.base), {
      method,
      headers: { authorization: `Bearer ${this.key}`, "content-type": "application/json" },
      signal: AbortSignal.timeout(CALL_MS),
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok)
      throw new Refused(
        `${method} ${new URL(response.url).pathname.split("/")[1]}`,
        response.status,
        text,
      );
    return text;
  }
}
