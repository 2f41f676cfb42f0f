import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type PlaceSlot, SlotPlaced } from "@svc/contract/host-protocol/slots.ts";
import { mintHostBearer } from "@svc/contract/tokens.ts";
import * as z from "zod";
import { permissionFlags } from "../../browser-pool/permissions.ts";
import { Gateway, HOST_TOKEN } from "./gateway.ts";
import type { PoolLimits } from "./own-limits.ts";

const MAIN = fileURLToPath(new URL("../../browser-pool/main.ts", import.meta.url));
const OWN_LIMITS = fileURLToPath(new URL("own-limits.ts", import.meta.url));
const MINUTE = 60_000;

const Ready = z.object({
  type: z.literal("ready"),
  url: z.url(),
  table: z.array(z.object({ what: z.string(), on: z.boolean(), note: z.string() })),
});
type Ready = z.infer<typeof Ready>;

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
}

/** A real pool process, joined to a tiny gateway. */
export class Rig {
  readonly gateway: Gateway;
  readonly child: ChildProcess;
  readonly stateDir: string;
  readonly ready: Ready;
  stderr = "";

  private constructor(gateway: Gateway, child: ChildProcess, stateDir: string, ready: Ready) {
    this.gateway = gateway;
    this.child = child;
    this.stateDir = stateDir;
    this.ready = ready;
    child.stderr?.on("data", (text) => (this.stderr += String(text)));
  }

  static async start({ env = {}, stateDir, limits, uid, ...own }: RigOptions = {}): Promise<Rig> {
    const main = own.main ?? (limits ? OWN_LIMITS : MAIN);
    const gateway = new Gateway();
    const url = await gateway.start();
    const folder = stateDir ?? (await mkdtemp(join(tmpdir(), "rig-")));
    const child = spawn(process.execPath, [...permissionFlags(folder, env["TMPDIR"]), main], {
      stdio: ["ignore", "inherit", "pipe", "ipc"],
      ...(uid !== undefined && { uid, gid: uid }),
      env: {
        ...process.env,
        SVC_GATEWAY_URL: url,
        SVC_HOST_TOKEN: HOST_TOKEN,
        SVC_STATE_DIR: folder,
        SVC_WARM_FAST: "1",
        // However busy the machine is.
        SVC_STOP_MS: "90000",
        ...(limits && { TEST_LIMITS: JSON.stringify(limits) }),
        ...env,
      },
    });
    let early = "";
    const listen = (text: unknown): void => void (early += String(text));
    child.stderr?.on("data", listen);
    const ended = once(child, "exit").then(() => Promise.reject(new Error(`no start: ${early}`)));
    const [ready] = await Promise.race([once(child, "message"), ended]);
    ended.catch(() => {});
    const rig = new Rig(gateway, child, folder, Ready.parse(ready));
    rig.stderr = early;
    child.stderr?.off("data", listen);
    return rig;
  }

  /** Ends the pool as the supervisor does, and forgets its folder. */
  async stop(): Promise<void> {
    await this.end("SIGTERM");
    await this.gateway.stop();
    await rm(this.stateDir, { recursive: true, force: true });
  }

  async end(signal: NodeJS.Signals): Promise<number | null> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return this.child.exitCode;
    this.child.kill(signal);
    const [code] = await once(this.child, "exit");
    return code;
  }

  /** Waits until a browser is warm. */
  async warm(): Promise<void> {
    await this.gateway.beat((beat) => (beat.kinds.fast?.idle ?? 0) > 0);
  }

  async call(
    method: string,
    path: string,
    id: string,
    body?: object,
    init?: RequestInit,
  ): Promise<Response> {
    return fetch(new URL(path, this.ready.url), {
      method,
      headers: { authorization: `Bearer ${await bearer(id)}` },
      ...(body && { body: JSON.stringify(body) }),
      ...init,
    });
  }

  put(id: string, ask: Partial<PlaceSlot> = {}, init?: RequestInit): Promise<Response> {
    const body = {
      kind: "fast",
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
  async socket(
    room: "ws" | "cdp",
    id: string,
  ): Promise<{ url: string; headers: Record<string, string> }> {
    const url = new URL(`/${room}/${encodeURIComponent(id)}`, this.ready.url);
    url.protocol = "ws:";
    return { url: url.href, headers: { authorization: `Bearer ${await bearer(id)}` } };
  }
}

export function bearer(id: string, expiresAt = Date.now() + MINUTE): Promise<string> {
  return mintHostBearer(HOST_TOKEN, { org: "org_test", id, expiresAt });
}
