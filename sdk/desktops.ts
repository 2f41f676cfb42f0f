import type { Context } from "./context.ts";
import type { CallOptions } from "./http/deadline.ts";
import type { Answered, Sent } from "@svc/contract/operations/routes.ts";
import { Machine } from "./machine.ts";

/** The wishes of a desktop's create (document 2, Desktop create request). Everything is optional. */
export type DesktopOptions = Sent<"POST /desktops">;
/** A desktop as the older surface answers it: `ready` is what `running` is elsewhere. */
export type DesktopRecord = Answered<"GET /desktops/:id">;
/** The answer of a create. */
export type DesktopCreated = Answered<"POST /desktops">;

/** Desktops: microVMs with a screen (document 2). `sandboxes.list({ kind: "desktop" })` lists them. */
export class Desktops {
  readonly #context: Context;

  constructor(context: Context) {
    this.#context = context;
  }

  /** Creates a desktop. All attempts make one machine (Idempotency-Key). */
  async create(wanted: DesktopOptions = {}, options: CallOptions = {}): Promise<Desktop> {
    const request = { ...options, body: wanted, creates: true, isLong: true } as const;
    const made = await this.#context.http.call("POST /desktops", request);
    return new Desktop(this.#context, made.sessionId, made);
  }

  /** Reads a desktop. It counts as use. */
  get(id: string, options: CallOptions = {}): Promise<DesktopRecord> {
    return this.#context.http.call("GET /desktops/:id", { ...options, params: { id } });
  }

  /** A desktop by its id. Nothing is asked: whether it lives, the first call tells. `await using` leaves it alone. */
  at(id: string): Desktop {
    return new Desktop(this.#context, id).keep();
  }

  /** A desktop that lives already; one that is paused is resumed first. `await using` leaves it alone. */
  async connect(id: string, options: CallOptions = {}): Promise<Desktop> {
    const { status } = await this.get(id, options);
    const desktop = this.at(id);
    if (status === "paused") await desktop.resume(options);
    return desktop;
  }

  /** Destroys a desktop; repeating it is fine. An unknown id throws `NotFoundError`. */
  kill(id: string, options: CallOptions = {}): Promise<void> {
    return this.at(id).kill(options);
  }
}

/** A desktop. `await using` destroys it. */
export class Desktop extends Machine {
  /** The answer of the create; null for a desktop that was connected to. */
  declare readonly created: DesktopCreated | null;
  /** The live view: plain RFB over a WebSocket, for noVNC. A capability: whoever has it sees and drives the desktop. */
  declare readonly streamUrl: string;

  constructor(context: Context, id: string, created: DesktopCreated | null = null) {
    super(context, id, created?.controlUrl);
    this.created = created;
    const base = context.http.options.baseUrl.replace(/^http/, "ws");
    this.streamUrl = created?.streamUrl ?? `${base}/stream/${encodeURIComponent(id)}`;
  }

  /** A short-lived URL of the recording (WebM), while the desktop runs and once it is gone. `ConflictError` or `NotFoundError`: there is none. */
  recording(options: CallOptions = {}): Promise<Answered<"GET /desktops/:id/recording-url">> {
    return this.call("GET /desktops/:id/recording-url", options);
  }

  /** Saves memory and disk, and frees its place: nothing is billed until it is resumed. Repeating it is fine. */
  async pause(options: CallOptions = {}): Promise<void> {
    await this.call("POST /desktops/:id/pause", { ...options, isLong: true });
    this.drop();
  }

  /** Goes on where it was paused, with the programs it had. `ConflictError`: it is not paused. */
  async resume(options: CallOptions = {}): Promise<void> {
    await this.call("POST /desktops/:id/resume", { ...options, isLong: true });
  }

  async kill(options: CallOptions = {}): Promise<void> {
    this.close();
    await this.call("DELETE /desktops/:id", options);
  }
}
