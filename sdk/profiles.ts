import type { HttpClient } from "./http/client.ts";
import type { CallOptions } from "./http/deadline.ts";
import { Pages } from "./http/pages.ts";
import type { Answered, Sent } from "@svc/contract/operations/routes.ts";

/** A stored profile. Only `id` and `name` are to be relied on (document 1, Profile). */
export type ProfileRecord = Answered<"POST /profiles">;

/** A call that whoever edits a profile may do, by the lease of its lock. */
export interface LeaseOptions extends CallOptions {
  lease?: string | undefined;
}

/** Profiles: cookies and storage that outlive their sessions (document 1, Endpoints). */
export class Profiles {
  readonly #http: HttpClient;

  constructor(http: HttpClient) {
    this.#http = http;
  }

  /** The profiles of the org, all in one page. */
  list(options: CallOptions = {}): Pages<ProfileRecord> {
    return new Pages(async () => ({ items: await this.#http.call("GET /profiles", options) }));
  }

  /** Creates an empty profile. A name that is taken is a `BadRequestError`, the plan's cap a `PermissionError`. */
  create(name: string, options: CallOptions = {}): Promise<ProfileRecord> {
    const request = { ...options, body: { name }, creates: true, isUnrepeatable: true } as const;
    return this.#http.call("POST /profiles", request);
  }

  /** Deletes a profile. `ConflictError` while the editor has it open. */
  delete(id: string, options: CallOptions = {}): Promise<void> {
    return this.#http.call("DELETE /profiles/:id", { ...options, params: { id } });
  }

  /** Stores what Playwright's `storageState()` answers as the next version, at most 1 MiB. `ConflictError`: it is open, or was saved meanwhile. */
  save(
    id: string,
    storageState: object,
    { lease, ...options }: LeaseOptions = {},
  ): Promise<Answered<"POST /profiles/:id/save">> {
    const body = { storageState: { ...storageState }, lease };
    const request = { ...options, params: { id }, body, isUnrepeatable: true } as const;
    return this.#http.call("POST /profiles/:id/save", request);
  }

  /** The versions that are kept, newest first. */
  async versions(
    id: string,
    options: CallOptions = {},
  ): Promise<Answered<"GET /profiles/:id/versions">["versions"]> {
    const request = { ...options, params: { id } };
    return (await this.#http.call("GET /profiles/:id/versions", request)).versions;
  }

  /** Makes an older version the next one. */
  restore(
    id: string,
    version: number,
    { lease, ...options }: LeaseOptions = {},
  ): Promise<Answered<"POST /profiles/:id/restore">> {
    const body = { version, lease };
    const request = { ...options, params: { id }, body, isUnrepeatable: true } as const;
    return this.#http.call("POST /profiles/:id/restore", request);
  }

  /** Holds a profile for an editor, or with its `lease` renews that: saves without the lease and deletes are `ConflictError`s meanwhile. */
  lock(
    id: string,
    wanted: Sent<"POST /profiles/:id/lock"> = {},
    options: CallOptions = {},
  ): Promise<Answered<"POST /profiles/:id/lock">> {
    return this.#http.call("POST /profiles/:id/lock", { ...options, params: { id }, body: wanted });
  }

  /** Gives the lease back. One that has ended is as good. */
  unlock(id: string, lease: string, options: CallOptions = {}): Promise<void> {
    const request = { ...options, params: { id }, body: { lease } };
    return this.#http.call("DELETE /profiles/:id/lock", request);
  }
}
