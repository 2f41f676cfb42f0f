import type { Context } from "./context.ts";
import type { CallOptions } from "./http/deadline.ts";
import { Pages } from "./http/pages.ts";
import type { Answered, Sent } from "@svc/contract/operations/routes.ts";
import { type Labels, labelsQuery } from "./labels.ts";
import { Machine } from "./machine.ts";

/** The wishes of a sandbox's create (document 2, Sandbox create request). Everything is optional. */
export type SandboxOptions = Sent<"POST /sandboxes">;
/** A sandbox as the service answers it (document 2, Sandbox record). */
export type SandboxRecord = Answered<"GET /sandboxes/:id">;
/** The answer of a create: what the machine got, not an echo of what was asked. */
export type SandboxCreated = Answered<"POST /sandboxes">;

/** The filter of a list of sandboxes. */
export interface SandboxFilter extends CallOptions {
  state?: SandboxRecord["state"] | undefined;
  kind?: SandboxRecord["kind"] | undefined;
  /** Only those with these labels. */
  metadata?: Labels | undefined;
  /** Sandboxes of a page, 1 to 100; 50 unless said. */
  limit?: number | undefined;
}

/** Sandboxes: microVMs of your own (document 2). */
export class Sandboxes {
  readonly #context: Context;

  constructor(context: Context) {
    this.#context = context;
  }

  /** Creates a sandbox, or with `kind: "desktop"` a desktop. All attempts make one machine (Idempotency-Key). */
  async create(wanted: SandboxOptions = {}, options: CallOptions = {}): Promise<Sandbox> {
    const request = { ...options, body: wanted, creates: true, isLong: true } as const;
    const made = await this.#context.http.call("POST /sandboxes", request);
    return new Sandbox(this.#context, made.sandboxId, made);
  }

  /** A fork: a new sandbox that goes on where a snapshot is. */
  fork(
    fromSnapshot: string,
    wanted: Omit<SandboxOptions, "fromSnapshot"> = {},
    options: CallOptions = {},
  ): Promise<Sandbox> {
    return this.create({ ...wanted, fromSnapshot }, options);
  }

  /** Reads a sandbox. It counts as use. */
  get(id: string, options: CallOptions = {}): Promise<SandboxRecord> {
    return this.at(id).record(options);
  }

  /** A sandbox, or a desktop, by its id. Nothing is asked: whether it lives, the first call tells. `await using` leaves it alone. */
  at(id: string): Sandbox {
    return new Sandbox(this.#context, id).keep();
  }

  /** A sandbox that lives already; one that is paused is resumed first. `await using` leaves it alone. */
  async connect(id: string, options: CallOptions = {}): Promise<Sandbox> {
    const { state } = await this.get(id, options);
    const sandbox = this.at(id);
    if (state === "paused" || state === "archived") await sandbox.resume(options);
    return sandbox;
  }

  /** The machines of the org of both kinds, newest first. A list does not count as use of them. */
  list({ state, kind, metadata, limit, ...options }: SandboxFilter = {}): Pages<SandboxRecord> {
    return new Pages(async (cursor) => {
      const query = { state, kind, limit, cursor, ...labelsQuery(metadata) };
      const page = await this.#context.http.call("GET /sandboxes", { ...options, query });
      return { items: page.sandboxes, nextCursor: page.nextCursor };
    });
  }

  /** Destroys a sandbox; repeating it is fine. An unknown id throws `NotFoundError`. */
  kill(id: string, options: CallOptions = {}): Promise<void> {
    return this.at(id).kill(options);
  }
}

/** A sandbox. `await using` destroys it. */
export class Sandbox extends Machine {
  /** The answer of the create; null for a sandbox that was connected to. */
  declare readonly created: SandboxCreated | null;

  constructor(context: Context, id: string, created: SandboxCreated | null = null) {
    super(context, id, created?.controlUrl);
    this.created = created;
  }

  /** Saves memory and disk, and frees its place: nothing is billed until it is resumed. Repeating it is fine. */
  async pause(options: CallOptions = {}): Promise<void> {
    await this.call("POST /sandboxes/:id/pause", { ...options, isLong: true });
    this.drop();
  }

  /** Goes on where it was paused, with the processes it had. `ConflictError`: it is not paused. */
  async resume(options: CallOptions = {}): Promise<void> {
    await this.call("POST /sandboxes/:id/resume", { ...options, isLong: true });
  }

  async kill(options: CallOptions = {}): Promise<void> {
    this.close();
    await this.call("DELETE /sandboxes/:id", options);
  }
}
