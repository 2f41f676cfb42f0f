import { KeyCreated, Org } from "@svc/contract/admin/orgs.ts";
import { Profile } from "@svc/contract/browser/profile.ts";
import { SessionCreated, SessionRecord } from "@svc/contract/browser/session.ts";
import type { PlanName, PlanOverrides } from "@svc/contract/plans.ts";
import { noteAnswer } from "./coverage.ts";
import type { Target } from "./target.ts";

/** An answer, read to its end. */
export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  /** What the text says as JSON; undefined when it is none. */
  json: unknown;
}

/** Speaks HTTP to a gateway as one caller, and notes what it was answered. */
export class Caller {
  readonly #base: URL;
  readonly #bearer: string | null;

  constructor(base: URL, bearer: string | null) {
    this.#base = base;
    this.#bearer = bearer;
  }

  /** A string is a body as it is, all else becomes JSON. */
  async send(method: string, path: string, body?: unknown, headers = {}): Promise<Answer> {
    const url = new URL(path, this.#base);
    const response = await fetch(url, {
      method,
      redirect: "manual",
      headers: {
        ...(this.#bearer !== null && { authorization: `Bearer ${this.#bearer}` }),
        ...(body !== undefined && { "content-type": "application/json" }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const { status } = response;
    const answer = { status, headers: response.headers, text, json: parsed(text) };
    noteAnswer(method, url.pathname, status, text);
    return answer;
  }

  get(path: string): Promise<Answer> {
    return this.send("GET", path);
  }

  post(path: string, body?: unknown, headers = {}): Promise<Answer> {
    return this.send("POST", path, body, headers);
  }

  delete(path: string): Promise<Answer> {
    return this.send("DELETE", path);
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A session of a test's own, released when the test is done with it. */
export interface OpenSession extends AsyncDisposable {
  id: string;
  /** `/sessions/<id>` */
  path: string;
  created: SessionCreated;
  read(): Promise<SessionRecord>;
}

/** An org of a test's own, as the caller that holds its key. */
export class OrgCaller extends Caller {
  readonly orgId: string;
  readonly keyId: string;
  readonly key: string;

  constructor(base: URL, orgId: string, { keyId, key }: KeyCreated) {
    super(base, key);
    this.orgId = orgId;
    this.keyId = keyId;
    this.key = key;
  }

  async open(body?: object, headers = {}): Promise<OpenSession> {
    const answer = await this.post("/sessions", body, headers);
    if (answer.status !== 201) throw new Error(`POST /sessions: ${answer.status} ${answer.text}`);
    return this.opened(answer);
  }

  /** The session of a 201. */
  opened({ json }: Answer): OpenSession {
    const created = SessionCreated.parse(json);
    const path = pathOf(created.sessionId);
    return {
      id: created.sessionId,
      path,
      created,
      read: async () => SessionRecord.parse((await this.get(path)).json),
      [Symbol.asyncDispose]: async () => void (await this.delete(path)),
    };
  }

  async newProfile(name = "work"): Promise<Profile> {
    return Profile.parse((await this.post("/profiles", { name })).json);
  }
}

/** What the tests of a section are given. */
export interface Service extends Target {
  /** Whether it serves stealth browsers; until a pool does, a create of one is 503. */
  hasStealth: boolean;
  /** Without a key. */
  stranger: Caller;
  /** The holder of SVC_API_KEY. */
  owner: Caller;
  admin: Caller;
  newOrg(plan?: PlanName, overrides?: PlanOverrides, creditCents?: number): Promise<OrgCaller>;
}

export async function serviceOf(target: Target): Promise<Service> {
  const { base, key, adminToken } = target;
  const admin = new Caller(base, adminToken);
  const stranger = new Caller(base, null);
  const health = await stranger.get("/health");
  return {
    ...target,
    hasStealth: /"stealth":\{[^}]*"pools":[1-9]/.test(health.text),
    stranger,
    owner: new Caller(base, key),
    admin,
    newOrg: async (plan = "free", overrides = {}, creditCents) => {
      const wanted = { name: "conformance", plan, overrides, creditCents };
      const { orgId } = Org.parse((await admin.post("/admin/orgs", wanted)).json);
      const made = await admin.post(`/admin/orgs/${orgId}/keys`, {});
      return new OrgCaller(base, orgId, KeyCreated.parse(made.json));
    },
  };
}

export const pathOf = (id: string): string => `/sessions/${encodeURIComponent(id)}`;

/** The same id with another signature, of the same shape. */
export function forged(id: string): string {
  const last = id.at(-10) === "A" ? "B" : "A";
  return `${id.slice(0, -10)}${last}${id.slice(-9)}`;
}
