import { type Refusal, refusal } from "@svc/contract/errors.ts";
import type { HostPlatform } from "@svc/contract/host-protocol/vm-states.ts";
import type { PlaceVm, VmPlaced } from "@svc/contract/host-protocol/vms.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import type { Lifecycle } from "@svc/contract/vm/lifecycle.ts";
import { addChild } from "../../control-plane/snapshot-lineage.ts";
import { atMost } from "../live/deadline.ts";
import type { Reserved } from "../org.ts";
import type { Place } from "../session/find-slot.ts";
import type { SavedMachine } from "../fleet/restorable.ts";
import { noSnapshot } from "./snapshot.ts";
import { type StoredSandbox, viewOf } from "./record.ts";
import { NO_BILL } from "./bill.ts";
import { findVmHost } from "./find-host.ts";
import { takeVolumes, type WantedMount } from "./volumes.ts";

/** What a SandboxDO is told to create. Times are ms. */
export interface CreateSandboxOrder {
  id: string;
  org: string;
  plan: string;
  cap: number;
  template: string;
  metadata: Record<string, string>;
  createdAt: number;
  acquireMs: number;
  idleMs: number;
  lifecycle: Lifecycle;
  /** What it shall have mounted. Given to it, and told to its host, once it has its place in the cap. */
  volumes: WantedMount[];
  /** The create request, resolved, as its host gets it. */
  body: PlaceVm;
  /** The snapshot that it is forked from. */
  fork?: SavedMachine & { snapshotId: string };
  /** What the custom template that it is made of can run on, as far as that is known. */
  platform?: HostPlatform | null;
}

/** A created sandbox: what it got, and when its idle window ends. */
export interface SandboxMade {
  created: Pick<VmPlaced, "cpu" | "memMb" | "diskGb" | "isolation" | "enforcement"> & {
    expiresAt: number;
  };
}

/** The part of a SandboxDO that a create works on. */
export interface SandboxDesk {
  /** Known from now on, though not on disk yet. */
  begin(sandbox: StoredSandbox): void;
  /** On disk from now on: should this object die, its alarm undoes what was done. */
  keep(): void;
  read(): StoredSandbox | null;
  /** The machine is there: from now on it runs, unless it is not wanted any more. */
  placed(place: Place, got: VmPlaced): StoredSandbox | null;
  /** Ends a machine that was made in vain, without keeping the customer waiting. */
  giveBack(place: Place): void;
}

/**
 * Reserve, find a host, enter it in the org's list; and on any failure undo what was done. Of a create that
 * dies half way (the object evicted) the claim lapses, the host's next heartbeat ends the machine, and the
 * `giveUp` timer gives back what else it took: it is on disk before anything is. Without anything to take it
 * is written while the host works, for a new object's first write costs several syncs of the disk.
 */
export async function createSandbox(
  env: Env,
  order: CreateSandboxOrder,
  desk: SandboxDesk,
): Promise<SandboxMade | Refusal> {
  const { id, org, acquireMs } = order;
  const sandbox = newSandbox(order);
  desk.begin(sandbox);
  const refused = await reserve(env, order, sandbox);
  if (refused) return refused;
  if (order.fork || order.volumes.length > 0) desk.keep();
  const lost = order.fork && (await descend(env, order, order.fork.snapshotId));
  if (lost) return lost;
  const body = await takeVolumes(env, order);
  if ("refused" in body) return body;
  const isWanted = (): boolean => desk.read()?.state.status === "starting";
  const found = await findVmHost(env, {
    subject: { org, id },
    body,
    acquireMs,
    isWanted,
    onAsked: () => desk.keep(),
    ...(order.fork && { saved: order.fork }),
    ...(order.platform && { platform: order.platform }),
  });
  if ("refused" in found) return found;
  const made = await conclude(env, order, desk, found);
  if ("refused" in made) desk.giveBack(found.place);
  return made;
}

function newSandbox(order: CreateSandboxOrder): StoredSandbox {
  const { id, org, template, metadata, createdAt, acquireMs, body } = order;
  const { kind, cpu, memMb, diskGb } = body;
  // A host may have to fetch first what it begins from.
  const fetchMs = body.source.type === "snapshot" ? LIMITS.fetchForkMs : 0;
  const mostMs = acquireMs + fetchMs + LIMITS.hostAnswerMs;
  const giveUpAt = createdAt + mostMs + LIMITS.unconfirmedSlackMs;
  const { autoResume, parkMaxMs } = order.lifecycle;
  const size = { cpu, memMb, diskGb, isolation: body.isolation };
  const fromSnapshot = order.fork?.snapshotId ?? null;
  const habits = { autoResume, parkMaxMs, fromSnapshot };
  const facts = { id, org, kind, template, metadata, createdAt, ...size, ...habits };
  const parent = fromSnapshot === null ? {} : { parentSnapshot: fromSnapshot };
  const state = { status: "starting", giveUpAt, bill: NO_BILL } as const;
  const held = order.volumes.length > 0 && ({ hasVolumes: true } as const);
  return {
    ...facts,
    ...held,
    ...parent,
    state,
    place: null,
    owed: [],
    retryAt: null,
    listedExpiresAt: giveUpAt,
  };
}

const unavailable = (): Refusal =>
  refusal("AdmissionUnavailable", "The concurrency of the org could not be checked. Try again.");

/** From here on its snapshot cannot be deleted; what ends the sandbox lets go of it. */
async function descend(
  env: Env,
  { org, id }: CreateSandboxOrder,
  snapshotId: string,
): Promise<Refusal | null> {
  try {
    return (await addChild(env.DB, org, snapshotId, id)) ? null : noSnapshot();
  } catch {
    return unavailable();
  }
}

async function reserve(
  env: Env,
  { org, plan, cap }: CreateSandboxOrder,
  sandbox: StoredSandbox,
): Promise<Refusal | null> {
  const view = viewOf(sandbox);
  if (!view) return unavailable();
  const claim = { view, cap, lapsesAt: view.expiresAt };
  let answer: Reserved;
  try {
    answer = await atMost(LIMITS.objectCallMs, env.ORGS.getByName(org).reserveSandbox(claim));
  } catch {
    return unavailable();
  }
  if (answer.reserved) return null;
  const text = `The ${plan} plan allows ${cap} VMs at once. Release one and try again.`;
  const { holders } = answer;
  return refusal("ConcurrencyLimitExceeded", text, { plan, cap, kind: "vm", holders });
}

/** Enters the running sandbox in its org's list, which keeps its claim, and lets it run. */
async function conclude(
  env: Env,
  order: CreateSandboxOrder,
  desk: SandboxDesk,
  { place, got }: { place: Place; got: VmPlaced },
): Promise<SandboxMade | Refusal> {
  const { cpu, memMb, diskGb, isolation, enforcement } = got;
  const before = desk.read();
  const view = before && viewOf({ ...before, cpu, memMb, diskGb });
  if (!view) return unwanted();
  const running = { ...view, state: "running", expiresAt: Date.now() + order.idleMs } as const;
  const noting = env.ORGS.getByName(order.org).noteSandbox(running);
  const isNoted = await atMost(LIMITS.objectCallMs, noting).catch(() => null);
  if (isNoted === null) return unavailable();
  const sandbox = isNoted ? desk.placed(place, got) : null;
  if (sandbox?.state.status !== "running") return unwanted();
  const { expiresAt } = sandbox.state;
  return { created: { cpu, memMb, diskGb, isolation, enforcement, expiresAt } };
}

function unwanted(): Refusal {
  const hint = "It was deleted while it was created, or its create took too long.";
  return refusal("NoCapacity", "The sandbox is not wanted any more.", { hint });
}
