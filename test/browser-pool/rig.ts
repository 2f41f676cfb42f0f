import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { BrowserKind } from "@svc/contract/browser/session.ts";
import type { SlotReport } from "@svc/contract/host-protocol/heartbeat.ts";
import { type PlaceSlot, SlotPlaced } from "@svc/contract/host-protocol/slots.ts";
import { permissionFlags } from "../../browser-pool/permissions.ts";
import { HostRig, type StartedHost, startHost } from "../support/process/host-rig.ts";
import { Gateway } from "./gateway.ts";
import type { PoolLimits } from "./own-limits.ts";

const MAIN = fileURLToPath(new URL("../../browser-pool/main.ts", import.meta.url));
const OWN_LIMITS = fileURLToPath(new URL("own-limits.ts", import.meta.url));
const MINUTE = 60_000;

export interface RigOptions {
  env?: Record<string, string>;
  /** A state folder that outlives this pool. */
  stateDir?: string;
  /** Another program than the pool's own front door. */
  main?: string;
  /** Other limits than the pool's own. */
  limits?: PoolLimits;
  /** Another user than the one of the tests. */
  uid?: number;
  /** The kind that is kept warm, and placed unless a test says otherwise. */
  kind?: BrowserKind;
}

/** How many customer sockets of a session are open. */
export const openOf = ({ opens, closes }: SlotReport): number => opens - closes;

/** A real pool process, joined to a tiny gateway. */
export class Rig extends HostRig<Gateway> {
  readonly kind: BrowserKind;

  private constructor(gateway: Gateway, stateDir: string, started: StartedHost, kind: BrowserKind) {
    super(gateway, stateDir, started);
    this.kind = kind;
  }

  static async start({ env = {}, limits, uid, ...own }: RigOptions = {}): Promise<Rig> {
    const { kind = "fast" } = own;
    const main = own.main ?? (limits ? OWN_LIMITS : MAIN);
    const gateway = new Gateway();
    const gatewayUrl = await gateway.start();
    const stateDir = own.stateDir ?? (await mkdtemp(join(tmpdir(), "rig-")));
    const started = await startHost({
      args: [...permissionFlags(stateDir, env["TMPDIR"]), main],
      stateDir,
      gatewayUrl,
      ...(uid !== undefined && { uid }),
      env: {
        SVC_WARM_FAST: kind === "fast" ? "1" : "0",
        SVC_WARM_STEALTH: kind === "stealth" ? "1" : "0",
        ...(limits && { TEST_LIMITS: JSON.stringify(limits) }),
        ...env,
      },
    });
    return new Rig(gateway, stateDir, started, kind);
  }

  /** Waits until a browser is warm. */
  async warm(): Promise<void> {
    await this.gateway.beat((beat) => (beat.kinds[this.kind]?.idle ?? 0) > 0);
  }

  put(id: string, ask: Partial<PlaceSlot> = {}, init?: RequestInit): Promise<Response> {
    const body = {
      kind: this.kind,
      expiresAt: Date.now() + 60 * MINUTE,
      acquireMs: 2 * MINUTE,
      ...ask,
    };
    return this.call("PUT", `/slots/${encodeURIComponent(id)}`, id, body, init);
  }

  async place(id: string, ask: Partial<PlaceSlot> = {}): Promise<SlotPlaced> {
    const response = await this.put(id, ask);
    if (response.status !== 201) throw new Error(`${response.status} ${await response.text()}`);
    return SlotPlaced.parse(await response.json());
  }

  delete(id: string): Promise<Response> {
    return this.call("DELETE", `/slots/${encodeURIComponent(id)}`, id);
  }

  /** The URL and headers of a socket, as the gateway would call them. */
  socket(kind: "ws" | "cdp", id: string) {
    return this.socketAt(`/${kind}/${encodeURIComponent(id)}`, id);
  }
}
