import { env } from "cloudflare:workers";
import { HeartbeatReply } from "@svc/contract/host-protocol/heartbeat.ts";
import type { VmHeartbeat, VmReport } from "@svc/contract/host-protocol/vms.ts";
import { SandboxCreated, type SandboxState } from "@svc/contract/vm/sandbox.ts";
import { inject } from "vitest";
import * as z from "zod";
import { fleet } from "../../durable-objects/fleet.ts";
import type { SandboxView } from "../../durable-objects/sandbox-view.ts";
import { call, json } from "./worker-gateway.ts";

const Steered = z.object({
  calls: z.array(
    z.object({
      method: z.string(),
      path: z.string(),
      org: z.string().nullable(),
      body: z.unknown(),
    }),
  ),
  bootId: z.string(),
  seq: z.number(),
  vms: z.array(z.string()),
});

/** A fake VM host over real sockets, and its heartbeats into the Worker. */
export class VmHost {
  readonly hostId: string;
  readonly url: string;

  constructor(hostId: string, url: string) {
    this.hostId = hostId;
    this.url = url;
  }

  /** Sets how it answers; what is not said answers well. */
  async steer(mode?: Record<string, string>): Promise<z.infer<typeof Steered>> {
    const response = await fetch(`${this.url}/control`, mode ? json(mode) : { method: "POST" });
    if (!response.ok) throw new Error(await response.text());
    return Steered.parse(await response.json());
  }

  /** The calls of one sort that it got, such as `PUT` or `POST exec`. */
  async calls(method: string, what = ""): Promise<z.infer<typeof Steered>["calls"]> {
    const { calls } = await this.steer();
    return calls.filter((one) => one.method === method && (one.path.split("/")[3] ?? "") === what);
  }

  /** Sends a heartbeat; what is not said is a host with room that holds what it was given. */
  async beat(facts: Partial<VmHeartbeat> = {}): Promise<HeartbeatReply> {
    const response = await this.post({ ...(await this.heartbeat()), ...facts });
    return HeartbeatReply.parse(await response.json());
  }

  post(body: unknown): Promise<Response> {
    return call(`/internal/hosts/${this.hostId}/heartbeat`, { ...json(body), bearer: "host" });
  }

  /** The heartbeat that follows all placements so far. */
  async heartbeat(): Promise<VmHeartbeat> {
    const { bootId, seq, vms } = await this.steer();
    return {
      type: "vm",
      bootId,
      seq,
      url: this.url,
      versions: { qemu: "7.2.22" },
      accel: { name: "tcg", reason: "no /dev/kvm", bootMs: 4000 },
      capabilities: [],
      isolation: "uid",
      egress: "filtered",
      weaknesses: [],
      egressAllow: [],
      warm: 1,
      free: { cpu: 64, memMb: 65_536, diskGb: 100, slots: 20 },
      images: [{ name: "base", state: "ready" }],
      vms: vms.map((id) => vmOf(id)),
    };
  }
}

let hosts = 0;

/** A registered fake VM host with room; alone in the fleet, so that a sandbox can only be there. */
export async function newVmHost(facts: Partial<VmHeartbeat> = {}): Promise<VmHost> {
  await clearFleet();
  return anotherVmHost(facts);
}

export async function anotherVmHost(facts: Partial<VmHeartbeat> = {}): Promise<VmHost> {
  hosts += 1;
  const url = await (await fetch(`${inject("fakePoolFarm")}/vm`, { method: "POST" })).text();
  const host = new VmHost(`vm-${hosts}`, url);
  await host.beat(facts);
  return host;
}

export async function clearFleet(): Promise<void> {
  for (const { hostId } of await fleet(env).list()) await fleet(env).remove(hostId);
}

/** A machine as a heartbeat reports it. */
export const vmOf = (id: string, facts: Partial<VmReport> = {}): VmReport => ({
  id,
  state: "running",
  lastActivityAt: 0,
  ...facts,
});

/** Creates a sandbox and answers what came back. */
export async function newSandbox(key: string, body: object = {}): Promise<SandboxCreated> {
  const response = await call("/sandboxes", { ...json(body), bearer: key });
  return SandboxCreated.parse(await response.json());
}

/** A sandbox as its org's list is told of it. */
export function sandboxView(
  id: string,
  facts: Partial<SandboxView> & { state?: SandboxState } = {},
): SandboxView {
  return {
    id,
    kind: "sandbox",
    state: "starting",
    metadata: {},
    template: "base",
    createdAt: 1,
    expiresAt: Date.now() + 60_000,
    cpu: 2,
    memMb: 2048,
    diskGb: 4,
    closeReason: null,
    goneAt: null,
    ...facts,
  };
}
