import * as z from "zod";
import type { JsonObject } from "../cdp/envelope.ts";
import type { CdpMux } from "../cdp/mux.ts";
import { type CdpEvent, OwnClient } from "../cdp/own-client.ts";
import { RESUME, type StartKind, startKindOf } from "../cdp/starts.ts";
import { type Identity, identityOf } from "./identity.ts";
import { type Whereabouts, overridesFor } from "./overrides.ts";

/** Stops every new target before its first script, until it is let go. */
const ATTACH = { autoAttach: true, waitForDebuggerOnStart: true, flatten: true };

/** The target has ended, or another target of its process has brought the override. */
const EXPECTED =
  /session has ended|id not found|browser is gone|already in effect|closed|detached/i;

const Attached = z.object({
  sessionId: z.string(),
  targetInfo: z.object({ type: z.string(), canAccessOpener: z.boolean().default(false) }),
});

/**
 * Takes the marks off every target of a browser before its first script runs, whoever drives the browser. All of it is
 * Chromium's own overrides: nothing in a page is patched, and no domain is enabled whose work a page could notice.
 */
export class Shim {
  readonly #client: OwnClient;
  readonly #identity: Identity;
  readonly #sessions = new Map<string, string>();
  readonly #onFault: (fault: string) => void;
  #whereabouts: Whereabouts = {};

  private constructor(mux: CdpMux, version: JsonObject, onFault: (fault: string) => void) {
    this.#onFault = onFault;
    this.#client = new OwnClient(mux, (event) => this.#hear(event));
    this.#identity = identityOf(version);
  }

  /**
   * To be called before any other client attaches: what others call comes after the calls of the shim then. `onFault`: the
   * browser has refused an override of a target that lives.
   */
  static async start(mux: CdpMux, onFault: (fault: string) => void): Promise<Shim> {
    const shim = new Shim(mux, await mux.call("Browser.getVersion"), onFault);
    // Else another client could let a target run before its overrides are in force.
    mux.startTogether(shim.#client);
    await shim.#client.open();
    await shim.#client.call("Target.setAutoAttach", ATTACH);
    return shim;
  }

  /** Has all targets, also those to come, tell the time and the language of a place. */
  async moveTo(whereabouts: Whereabouts): Promise<void> {
    this.#whereabouts = whereabouts;
    await Promise.all([...this.#sessions].map(([id, type]) => this.#override(id, type)));
  }

  close(): void {
    this.#client.close();
  }

  #hear({ method, params }: CdpEvent): void {
    if (method === "Target.detachedFromTarget") this.#sessions.delete(String(params.sessionId));
    if (method !== "Target.attachedToTarget") return;
    const attached = Attached.safeParse(params).data;
    if (!attached) return;
    const { sessionId, targetInfo } = attached;
    this.#sessions.set(sessionId, targetInfo.type);
    const { type, canAccessOpener } = targetInfo;
    void this.#prepare(sessionId, type, startKindOf(type, canAccessOpener));
  }

  async #prepare(sessionId: string, type: string, kind: StartKind): Promise<void> {
    // Nobody waits for answers: some targets give none before they run. What others call comes later, and is done later.
    void this.#override(sessionId, type);
    void this.#call("Target.setAutoAttach", ATTACH, sessionId);
    // A dialog that opens while nobody is there waits as it does for a person: whoever comes is told of it (OpenDialogs).
    if (type === "page") void this.#call("Page.enable", {}, sessionId);
    // When the browser answers, it has told all its clients of the target: what they have to set up is waited for.
    if (kind !== "each") await this.#client.call("Target.getTargetInfo").catch(() => {});
    await this.#call(RESUME, {}, sessionId);
  }

  async #override(sessionId: string, type: string): Promise<void> {
    const overrides = overridesFor(type, this.#identity, this.#whereabouts);
    await Promise.all(overrides.map(([name, params]) => this.#call(name, params, sessionId)));
  }

  async #call(method: string, params: JsonObject, sessionId: string): Promise<void> {
    try {
      await this.#client.call(method, params, sessionId);
    } catch (error) {
      const { message } = error instanceof Error ? error : new Error(String(error));
      if (!EXPECTED.test(message)) this.#onFault(`${method}: ${message}`);
    }
  }
}
