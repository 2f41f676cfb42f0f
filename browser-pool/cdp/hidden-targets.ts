import * as z from "zod";
import type { ClientCall } from "./call.ts";
import type { Envelope } from "./envelope.ts";
import type { MuxClient } from "./sessions.ts";

/** A tab that no page has opened. */
const OwnTab = z.object({
  targetInfo: z.object({ type: z.enum(["page", "tab"]), openerId: z.never().optional() }),
});
/** The target that an event is about. */
const About = z.object({
  targetId: z.string().optional(),
  targetInfo: z.object({ targetId: z.string() }).optional(),
});
const TOLD: ReadonlySet<string | null> = new Set([
  "Target.targetCreated",
  "Target.targetInfoChanged",
  "Target.targetDestroyed",
]);
/** Tabs that are kept in mind: older ones have closed. */
const REMEMBERED = 20;

/** Which new targets clients do not see: browsers attach clients to every target, and stop it for them. */
export class HiddenTargets {
  /** The only client that sees new targets now; null when all do. */
  #seer: MuxClient | null = null;
  /** Of new targets only tabs that no page has opened are hidden: others use the browser. */
  #isShared = false;
  #opening: Promise<void> | null = null;
  /** Sessions that the browser opened for clients that were not to see their targets. */
  readonly #sessions = new Set<string>();
  /** Tabs that were opened for one client. */
  readonly #tabs = new Set<string>();

  /** Does work whose new targets only one client sees. */
  async during<Result>(client: MuxClient, work: () => Promise<Result>): Promise<Result> {
    this.#seer = client;
    try {
      return await work();
    } finally {
      this.#seer = null;
    }
  }

  /**
   * Opens one tab that only one client sees. `before`: resolves once the browser has done all calls so far. Calls of clients
   * that open tabs wait meanwhile: a tab that a call has opened has no opener, as this one has none.
   */
  async open<Result>(
    client: MuxClient,
    before: () => Promise<unknown>,
    open: () => Promise<Result>,
  ): Promise<Result> {
    while (this.#opening) await this.#opening;
    const opened = Promise.withResolvers<void>();
    this.#opening = opened.promise;
    try {
      await before();
      this.#isShared = true;
      return await this.during(client, open);
    } finally {
      this.#isShared = false;
      this.#opening = null;
      opened.resolve();
    }
  }

  /** The opening that a client's call has to wait for; null when there is none, and for the call that opens the tab itself. */
  blocks(client: MuxClient, { method }: ClientCall): Promise<void> | null {
    return method === "Target.createTarget" && client !== this.#seer ? this.#opening : null;
  }

  /** Whether a session that has begun is one to let go of. */
  hides(client: MuxClient, child: string, envelope: Envelope): boolean {
    if (!this.#seer || client === this.#seer) return false;
    if (this.#isShared && !OwnTab.safeParse(envelope.object().params).success) return false;
    this.#sessions.add(child);
    return true;
  }

  /** Whether an event tells a client of a tab that it does not see. */
  conceals(client: MuxClient, envelope: Envelope): boolean {
    if (!this.#isShared && this.#tabs.size === 0) return false;
    if (!TOLD.has(envelope.method) || client === this.#seer) return false;
    const { params } = envelope.object();
    const { targetId, targetInfo } = About.safeParse(params).data ?? {};
    const id = targetInfo?.targetId ?? targetId ?? "";
    const isNew = this.#isShared && envelope.method === "Target.targetCreated";
    if (isNew && OwnTab.safeParse(params).success) this.#remember(id);
    return this.#tabs.has(id);
  }

  #remember(tab: string): void {
    this.#tabs.add(tab);
    const [oldest] = this.#tabs;
    if (this.#tabs.size > REMEMBERED && oldest !== undefined) this.#tabs.delete(oldest);
  }

  /** Whether a session was let go of: its end is nobody's business either. */
  forget(child: string): boolean {
    return this.#sessions.delete(child);
  }
}
