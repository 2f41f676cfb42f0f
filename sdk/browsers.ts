import type { Context } from "./context.ts";
import { Held } from "./dispose.ts";
import type { RouteRequest } from "./http/client.ts";
import { Handoffs } from "./handoffs.ts";
import type { CallOptions } from "./http/deadline.ts";
import { Pages } from "./http/pages.ts";
import type { Answered, Route, Sent } from "@svc/contract/operations/routes.ts";
import { Replay } from "./replay.ts";
import { SessionFiles } from "./session-files.ts";

/** The wishes of a session's create (document 1, Session create request). Everything is optional. */
export type BrowserOptions = Sent<"POST /sessions">;
/** A session as the service answers it (document 1, Session record). */
export type BrowserRecord = Answered<"GET /sessions/:id">;

/** The filter of a list of sessions. */
export interface BrowserFilter extends CallOptions {
  status?: BrowserRecord["status"] | undefined;
  /** Sessions of a page, 1 to 100; 50 unless said. */
  limit?: number | undefined;
}

/** How a browser is created, beside what it is to be. */
export interface CreateBrowserOptions extends CallOptions {
  /** `1.65`: of the Playwright that is to connect. A mismatch is then a `WireVersionError` at once. */
  wireVersion?: string | undefined;
}

/** How a profile is saved. */
export interface SaveProfileOptions extends CallOptions {
  /** A save with a key of one's own is made once, however often and by whomever of the org it is asked for. */
  headers?: { "idempotency-key": string } | undefined;
}

/** Browser sessions (document 1, Endpoints). */
export class Browsers {
  readonly #context: Context;

  constructor(context: Context) {
    this.#context = context;
  }

  /** Creates a session. Throws `ConcurrencyLimitError` at the plan's cap; a `profileId` that is unknown is a `NotFoundError`. */
  async create(wanted: BrowserOptions = {}, options: CreateBrowserOptions = {}): Promise<Browser> {
    const { http } = this.#context;
    const made = await http.call("POST /sessions", {
      ...options,
      body: wanted,
      headers: { "x-svc-wire-version": options.wireVersion },
      creates: true,
      isLong: true,
    });
    return new Browser(this.#context, { id: made.sessionId, ...made });
  }

  /** Reads a session. A session that ended is a record with its status, not an error. */
  get(id: string, options: CallOptions = {}): Promise<BrowserRecord> {
    return this.#context.http.call("GET /sessions/:id", { ...options, params: { id } });
  }

  /** A session that lives already. `await using` leaves it alone. */
  async connect(id: string, options: CallOptions = {}): Promise<Browser> {
    const record = await this.get(id, options);
    return new Browser(this.#context, record).keep();
  }

  /** The sessions of the org, newest first. */
  list({ status, limit, ...options }: BrowserFilter = {}): Pages<BrowserRecord> {
    return new Pages(async (cursor) => {
      const query = { status, limit, cursor };
      const page = await this.#context.http.call("GET /sessions", { ...options, query });
      return { items: page.sessions, nextCursor: page.nextCursor };
    });
  }

  /** Releases a session; repeating it is fine. An unknown id throws `NotFoundError`: nothing was released. */
  release(id: string, options: CallOptions = {}): Promise<void> {
    return this.#context.http.call("DELETE /sessions/:id", { ...options, params: { id } });
  }

  /** The replay of a session that was created with `recording`. */
  replay(id: string): Replay {
    return new Replay(this.#context.http, id);
  }
}

/** The facts of a session that are known when it begins. */
export interface BrowserFacts {
  id: string;
  wsEndpoint?: string;
  cdpEndpoint?: string;
  expiresAt: string | null;
  storageStateUrl?: Answered<"POST /sessions">["storageStateUrl"];
  proxy?: Answered<"POST /sessions">["proxy"];
  captcha?: Answered<"POST /sessions">["captcha"];
  allowedDomains?: string[];
  handoff?: BrowserRecord["handoff"];
}

/** A browser session. `await using` releases it. */
export class Browser extends Held {
  readonly #context: Context;
  /** Signed and opaque. */
  declare readonly id: string;
  /** For Playwright's `chromium.connect`; empty once the session is over. A capability: whoever has it drives the browser. */
  declare readonly wsEndpoint: string;
  /** For `connectOverCDP`, Puppeteer and `Cdp.connect` of `sdk/cdp.ts`; empty once the session is over. A capability too. */
  declare readonly cdpEndpoint: string;
  /** ISO 8601: when the session ends by itself. */
  declare readonly expiresAt: string | null;
  /** Present when a profile was asked for; `url` is null while it was never saved. */
  declare readonly storageStateUrl: BrowserFacts["storageStateUrl"];
  /** Present when a proxy was applied: one that was asked for may not be (document 1). */
  declare readonly proxy: BrowserFacts["proxy"];
  /** Present when captcha was asked for: whether a solver is at work. */
  declare readonly captcha: BrowserFacts["captcha"];
  /** Files that pages of the session have downloaded or are to be given. */
  declare readonly files: SessionFiles;
  /** Requests to a person to do something in the session. */
  declare readonly handoffs: Handoffs;
  /** The allowlist, normalised, when one was asked for. */
  declare readonly allowedDomains: readonly string[] | undefined;
  /** The last hand-off to a person; only of a session that was connected to. */
  declare readonly handoff: BrowserFacts["handoff"];

  constructor(context: Context, facts: BrowserFacts) {
    super();
    this.#context = context;
    const { wsEndpoint = "", cdpEndpoint = "", ...rest } = facts;
    this.id = facts.id;
    this.files = new SessionFiles(context.http, facts.id);
    this.handoffs = new Handoffs(context.http, facts.id);
    this.expiresAt = facts.expiresAt;
    this.wsEndpoint = wsEndpoint;
    this.cdpEndpoint = cdpEndpoint;
    Object.assign(this, rest);
  }

  /** Reads the session's record. */
  record(options: CallOptions = {}): Promise<BrowserRecord> {
    return this.#call("GET /sessions/:id", options);
  }

  /** Releases the session and its slot. */
  release(options: CallOptions = {}): Promise<void> {
    return this.#call("DELETE /sessions/:id", options);
  }

  /** Replaces the egress allowlist, at once; an empty list lifts it. Only for sessions created with one. */
  setAllowedDomains(
    domains: string[],
    options: CallOptions = {},
  ): Promise<Answered<"POST /sessions/:id/allowed-domains">> {
    return this.#call("POST /sessions/:id/allowed-domains", { ...options, body: { domains } });
  }

  /** A URL that shows the session to whoever has it, for 15 minutes, and lets nothing be done (docs/OBSERVING.md). */
  observe(options: CallOptions = {}): Promise<Answered<"POST /sessions/:id/observe-token">> {
    return this.#call("POST /sessions/:id/observe-token", options);
  }

  /** Hands the session to a person: a URL by which it is taken over, for `timeoutSeconds` (30 to 1800; 600 unless said). */
  handOff(
    timeoutSeconds?: number,
    options: CallOptions = {},
  ): Promise<Answered<"POST /sessions/:id/live-token">> {
    return this.#call("POST /sessions/:id/live-token", { ...options, body: { timeoutSeconds } });
  }

  /** Signs in by a saved login of the session's profile; `status` says how that went (docs/LOGINS.md). */
  autologin(
    wanted: Sent<"POST /sessions/:id/autologin">,
    options: CallOptions = {},
  ): Promise<Answered<"POST /sessions/:id/autologin">> {
    return this.#call("POST /sessions/:id/autologin", {
      ...options,
      body: wanted,
      isUnrepeatable: true,
      isLong: true,
    });
  }

  /** The sites that the session can sign in to by itself: all of them, or one. */
  autologinSites(
    site?: string,
    options: CallOptions = {},
  ): Promise<Answered<"GET /sessions/:id/autologin">> {
    return this.#call("GET /sessions/:id/autologin", { ...options, query: { site } });
  }

  /** Saves cookies and storage as the next version of a profile: by its id, by name, or the one the session began with. */
  saveProfile(
    wanted: Sent<"POST /sessions/:id/save-profile"> = {},
    options: SaveProfileOptions = {},
  ): Promise<Answered<"POST /sessions/:id/save-profile">> {
    return this.#call("POST /sessions/:id/save-profile", {
      ...options,
      body: wanted,
      creates: true,
    });
  }

  /** Renews the lease, or gives one of `idleSeconds`: disconnects no longer end the session, a lease not renewed does. */
  renewLease(
    idleSeconds?: number,
    options: CallOptions = {},
  ): Promise<Answered<"POST /sessions/:id/lease">> {
    return this.#call("POST /sessions/:id/lease", { ...options, body: { idleSeconds } });
  }

  /** The replay, once the session is released. */
  replay(): Replay {
    return new Replay(this.#context.http, this.id);
  }

  protected end(): Promise<void> {
    return this.release();
  }

  #call<R extends Extract<Route, `${string} /sessions/:id${string}`>>(
    route: R,
    options: RouteRequest<R>,
  ): Promise<Answered<R>> {
    return this.#context.http.call(route, { ...options, params: { id: this.id } });
  }
}
