import { permissionFlags } from "@svc/browser-pool/permissions.ts";
import type { BrowserKind } from "@svc/contract/browser/session.ts";
import { type PlaceSlot, SlotPlaced } from "@svc/contract/host-protocol/slots.ts";
import { mintHostBearer } from "@svc/contract/tokens.ts";
import { HOST_TOKEN } from "../service/lone-gateway.ts";
import { tempFolder } from "../service/endings.ts";
import { type Environment, Program } from "../service/program.ts";

const BEARER_MS = 60_000;
const SESSION_MS = 600_000;
const ACQUIRE_MS = 30_000;
const ORG = "org_bench";

/** A pool that is called as the gateway would call it, without one in between. */
export class LonePool {
  readonly url: string;
  /** Its heartbeats go there: counts of slots on GET. */
  readonly health: string;

  private constructor(url: string, health: string) {
    this.url = url;
    this.health = health;
  }

  static async start(env: Environment): Promise<LonePool> {
    const health = await new Program(["bench/browser/quiet-gateway.ts"]).ready();
    const stateDir = tempFolder();
    const scratch = tempFolder();
    const program = new Program([...permissionFlags(stateDir, scratch), "browser-pool/main.ts"], {
      SVC_GATEWAY_URL: health,
      SVC_HOST_TOKEN: HOST_TOKEN,
      SVC_STATE_DIR: stateDir,
      SVC_LOG_LEVEL: "warn",
      TMPDIR: scratch,
      ...env,
    });
    return new LonePool(await program.ready(), health);
  }

  /** Places a session and returns its id. */
  async place(kind: BrowserKind = "fast", ask: Partial<PlaceSlot> = {}): Promise<string> {
    const id = `bench-${crypto.randomUUID()}`;
    const expiresAt = Date.now() + SESSION_MS;
    const response = await fetch(new URL(`/slots/${id}`, this.url), {
      method: "PUT",
      headers: { ...(await this.headers(id)), "content-type": "application/json" },
      body: JSON.stringify({ kind, expiresAt, acquireMs: ACQUIRE_MS, ...ask }),
    });
    const text = await response.text();
    if (response.status !== 201) throw new Error(`PUT /slots answered ${response.status} ${text}`);
    SlotPlaced.parse(JSON.parse(text));
    return id;
  }

  async release(id: string): Promise<void> {
    const headers = await this.headers(id);
    const response = await fetch(new URL(`/slots/${id}`, this.url), { method: "DELETE", headers });
    await response.text();
    if (response.status !== 204) throw new Error(`DELETE /slots answered ${response.status}`);
  }

  async headers(id: string): Promise<{ authorization: string }> {
    const claims = { org: ORG, id, expiresAt: Date.now() + BEARER_MS };
    return { authorization: `Bearer ${await mintHostBearer(HOST_TOKEN, claims)}` };
  }

  endpoint(kind: "ws" | "cdp", id: string): string {
    return `${this.url.replace(/^http/, "ws")}/${kind}/${id}`;
  }
}
