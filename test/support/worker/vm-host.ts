import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { HeartbeatReply } from "@svc/contract/host-protocol/heartbeat.ts";
import type { VmHeartbeat, VmReport } from "@svc/contract/host-protocol/vms.ts";
import { mintHostBearer } from "@svc/contract/tokens.ts";
import { SandboxCreated, type SandboxState } from "@svc/contract/vm/sandbox.ts";
import { inject } from "vitest";
import * as z from "zod";
import type { SandboxView } from "../../../durable-objects/org/messages.ts";
import type { StoredSandbox } from "../../../durable-objects/sandbox/record.ts";
import { FAKE_HOST_PLATFORM, FAKE_ROOM } from "../fakes/platform.ts";
import { call, clearFleet, json, keepHeard } from "./gateway.ts";
import { HOST_TOKEN } from "../secrets.ts";

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
  paused: z.array(z.string()),
  parked: z.array(z.string()),
  snapshots: z.array(z.string()),
  /** Of paused machines and of those with a checkpoint, the record. */
  records: z.record(z.string(), z.string()),
  /** Its files and their sizes. */
  files: z.record(z.string(), z.number()),
  /** Templates that it has built. */
  templates: z.array(z.string()),
  /** What a guest got that had refused an upgrade. */
  overheard: z.array(z.string()),
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
  async steer(mode?: object): Promise<z.infer<typeof Steered>> {
    const response = await fetch(`${this.url}/control`, mode ? json(mode) : { method: "POST" });
    if (!response.ok) throw new Error(await response.text());
    return Steered.parse(await response.json());
  }

  /** The machines that it holds, by id. */
  async states(): Promise<Record<string, "running" | "paused">> {
    const { vms, paused } = await this.steer();
    const running = vms.map((id) => [id, "running"] as const);
    return Object.fromEntries([...running, ...paused.map((id) => [id, "paused"] as const)]);
  }

  /** The ids of the machines that it holds, running or paused. */
  async held(): Promise<string[]> {
    return Object.keys(await this.states());
  }

  /** The calls of one sort that it got, such as `PUT` or `POST exec`. */
  async calls(method: string, what = ""): Promise<z.infer<typeof Steered>["calls"]> {
    const { calls } = await this.steer();
    return calls.filter((one) => one.method === method && (one.path.split("/")[3] ?? "") === what);
  }

  /** Sends a heartbeat; what is not said is a host with room that holds what it was given. */
  async beat(facts: Partial<VmHeartbeat> = {}): Promise<HeartbeatReply> {
    const response = await this.post({ ...(await this.heartbeat()), ...facts });
    await keepHeard(this.hostId);
    return HeartbeatReply.parse(await response.json());
  }

  post(body: unknown): Promise<Response> {
    return call(`/internal/hosts/${this.hostId}/heartbeat`, { ...json(body), bearer: HOST_TOKEN });
  }

  /** The heartbeat that follows all placements so far. */
  async heartbeat(): Promise<VmHeartbeat> {
    const { bootId, seq, vms, paused, templates } = await this.steer();
    return {
      type: "vm",
      bootId,
      seq,
      sentAt: Date.now(),
      url: this.url,
      ...FAKE_ROOM,
      accel: { name: "tcg", reason: "no /dev/kvm", bootMs: 4000 },
      platform: FAKE_HOST_PLATFORM,
      capabilities: [],
      templates,
      vms: [...vms.map((id) => vmOf(id)), ...paused.map((id) => vmOf(id, { state: "paused" }))],
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
    resolution: null,
    closeReason: null,
    goneAt: null,
    record: null,
    ...facts,
  };
}

const KEY = "sandbox";

/** Lets a sandbox's idle window end in a minute, as if it had not been used for a while: that end. */
export function rewind(id: string): Promise<number> {
  const expiresAt = Date.now() + 60_000;
  return runInDurableObject(env.SANDBOXES.getByName(id), (_object, { storage }) => {
    const sandbox = storage.kv.get<StoredSandbox>(KEY);
    if (sandbox?.state.status !== "running") throw new Error("it is not running");
    storage.kv.put(KEY, { ...sandbox, state: { ...sandbox.state, expiresAt } });
    return expiresAt;
  });
}

/** When its idle window ends; asking is no use of it. */
export function expiryOf(id: string): Promise<number> {
  return runInDurableObject(env.SANDBOXES.getByName(id), (_object, { storage }) => {
    const sandbox = storage.kv.get<StoredSandbox>(KEY);
    return sandbox?.state.status === "running" ? sandbox.state.expiresAt : 0;
  });
}

/** Makes a machine and its record once more under another id of the same org: one that could not be minted now. */
export async function adopt(host: VmHost, from: string, id: string): Promise<void> {
  const original = await runInDurableObject(env.SANDBOXES.getByName(from), (_object, state) =>
    state.storage.kv.get<StoredSandbox>(KEY),
  );
  if (!original) throw new Error("there is no such sandbox");
  await runInDurableObject(env.SANDBOXES.getByName(id), (_object, { storage }) =>
    storage.kv.put(KEY, { ...original, id }),
  );
  const { org, kind, cpu, memMb, diskGb } = original;
  const expiresAt = Date.now() + 60_000;
  const bearer = await mintHostBearer(env.SVC_HOST_TOKEN, { org, id, expiresAt });
  const source = { type: "image", name: "base" };
  const body = { kind, cpu, memMb, diskGb, source, isolation: "dedicated", envs: {} };
  const headers = { authorization: `Bearer ${bearer}` };
  const placed = await fetch(`${host.url}/vms/${id}`, { ...json(body, "PUT"), headers });
  if (placed.status !== 201) throw new Error(`the host answered ${placed.status}`);
}
