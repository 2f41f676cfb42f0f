import { isRefusal, type Refusal, refusal } from "@svc/contract/errors.ts";
import type { PlaceVm, VmPlaced } from "@svc/contract/host-protocol/vms.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import type { Lifecycle } from "@svc/contract/vm/lifecycle.ts";
import { addChild } from "../../control-plane/snapshot-lineage.ts";
import type { Origin } from "../fleet/restorable.ts";
import type { Place } from "../host-calls/place.ts";
import { endVm } from "../host-calls/vms.ts";
import { atMost } from "../live/deadline.ts";
import { tried } from "../live/tried.ts";
import type { KeptCaps } from "../org/messages.ts";
import { granted, vmCap } from "../org/reserve.ts";
import { NO_BILL } from "./bill.ts";
import { findVmHost } from "./find-host.ts";
import { screenOf } from "./machine-change.ts";
import { type LiveSandbox, type StoredSandbox, viewOf } from "./record.ts";
import { noSnapshot } from "./refusals.ts";
import { takeVolumes, type WantedMount } from "./volumes.ts";

/** What a SandboxDO is told to create. Times are ms. */
export interface CreateSandboxOrder {
  id: string;
  org: string;
  plan: string;
  cap: number;
  kept: KeptCaps;
  template: string;
  metadata: Record<string, string>;
  createdAt: number;
  acquireMs: number;
  idleMs: number;
  lifecycle: Lifecycle;
  /** The volumes that it shall have. Attached, and told to its host, once it has its place in the cap. */
  volumes: WantedMount[];
  /** The create request, resolved, as its host gets it. */
  body: PlaceVm;
  /** The snapshot that it is forked from; null for none. */
  fromSnapshot: string | null;
  /** The snapshot or custom template that it goes on from. */
  origin: Origin;
}

/** A created sandbox: what it got, and when its idle window ends. */
export interface SandboxMade {
  created: Pick<VmPlaced, "cpu" | "memMb" | "diskGb" | "isolation" | "enforcement"> & {
    expiresAt: number;
  };
}

/**
 * Creates a sandbox: reserves, finds a host, enters the sandbox in the org's list, and undoes what was done on any
 * failure. Of a create that dies half way (the object evicted) the claim lapses, the host's next heartbeat ends the
 * machine, and the `giveUp` timer gives back what else was taken: the record is on disk before anything is. A create that
 * takes nothing else is written while the host works, for a new object's first write costs several syncs of the disk.
 */
export async function createSandbox(
  live: LiveSandbox,
  order: CreateSandboxOrder,
): Promise<SandboxMade | Refusal> {
  const sandbox = newSandbox(order);
  live.record.begin(sandbox);
  const made = (await reserve(live, order, sandbox)) ?? (await place(live, order));
  if (!("created" in made)) live.record.apply({ type: "createFailed" });
  return made;
}

function newSandbox(order: CreateSandboxOrder): StoredSandbox {
  const { id, org, template, metadata, createdAt, acquireMs, body, fromSnapshot } = order;
  const { kind, cpu, memMb, diskGb, isolation } = body;
  // A host may have to fetch first what it begins from.
  const fetchMs = body.source.type === "snapshot" ? LIMITS.fetchForkMs : 0;
  const mostMs = acquireMs + fetchMs + LIMITS.hostAnswerMs;
  const giveUpAt = createdAt + mostMs + LIMITS.unconfirmedSlackMs;
  const { autoResume, parkMaxMs } = order.lifecycle;
  const facts = { id, org, kind, template, metadata, createdAt, autoResume, parkMaxMs };
  const size = { cpu, memMb, diskGb, isolation };
  return {
    ...facts,
    ...size,
    fromSnapshot,
    ...(order.volumes.length > 0 && ({ hasVolumes: true } as const)),
    ...(fromSnapshot !== null && { parentSnapshot: fromSnapshot }),
    state: { status: "starting", giveUpAt, bill: NO_BILL },
    place: null,
    owed: [],
    retryAt: null,
    listedExpiresAt: giveUpAt,
  };
}

const unavailable = (): Refusal =>
  refusal("AdmissionUnavailable", "The concurrency of the org could not be checked. Try again.");

async function reserve(
  { env }: LiveSandbox,
  order: CreateSandboxOrder,
  sandbox: StoredSandbox,
): Promise<Refusal | null> {
  const view = viewOf(sandbox);
  if (!view) return unavailable();
  const { cap, kept } = order;
  const claim = { view, cap, kept, lapsesAt: view.expiresAt };
  const asking = env.ORGS.getByName(order.org).reserveSandbox(claim);
  return granted(asking, vmCap(order), unavailable());
}

/** Takes what the sandbox needs beside its place in the cap, then finds it a host. */
async function place(live: LiveSandbox, order: CreateSandboxOrder): Promise<SandboxMade | Refusal> {
  const { env, record } = live;
  const { id, org, acquireMs, origin, fromSnapshot } = order;
  if (fromSnapshot !== null || order.volumes.length > 0) record.keep();
  const lost = fromSnapshot === null ? null : await descend(env, order, fromSnapshot);
  if (lost) return lost;
  const body = await takeVolumes(env, order);
  if (isRefusal(body)) return body;
  const found = await findVmHost(env, {
    subject: { org, id },
    body,
    acquireMs,
    origin,
    isWanted: () => record.load()?.state.status === "starting",
    onAsked: () => record.keep(),
  });
  if (isRefusal(found)) return found;
  const made = await conclude(live, order, found);
  // A machine that was made in vain: the customer does not wait for its end.
  if (isRefusal(made))
    record.later(tried("machine_not_given_back", endVm(env, found.place.url, order)));
  return made;
}

/** From here on its snapshot cannot be deleted; what ends the sandbox lets go of it. */
async function descend(
  env: Env,
  { org, id }: CreateSandboxOrder,
  snapshotId: string,
): Promise<Refusal | null> {
  const isAdded = await tried("child_not_added", addChild(env.DB, org, snapshotId, id));
  if (isAdded === null) return unavailable();
  return isAdded ? null : noSnapshot();
}

/** Enters the running sandbox in its org's list, which keeps its claim, and lets it run. */
async function conclude(
  { env, record }: LiveSandbox,
  order: CreateSandboxOrder,
  { place: at, got }: { place: Place; got: VmPlaced },
): Promise<SandboxMade | Refusal> {
  const { cpu, memMb, diskGb, isolation, enforcement } = got;
  const size = { cpu, memMb, diskGb, ...screenOf(got) };
  const { org, idleMs, lifecycle } = order;
  const before = record.load();
  const view = before && viewOf({ ...before, ...size });
  if (!view) return unwanted();
  const running = { ...view, state: "running", expiresAt: Date.now() + idleMs } as const;
  const noting = env.ORGS.getByName(org).noteSandbox(running);
  const isNoted = await tried("sandbox_not_noted", atMost(LIMITS.objectCallMs, noting));
  if (isNoted === null) return unavailable();
  const { onTimeout, autoResume: _fact, parkMaxMs: _other, ...habits } = lifecycle;
  const placed = { type: "placed", idleMs, onTimeout, habits } as const;
  const sandbox = isNoted ? record.apply(placed, { place: at, ...size }) : null;
  if (sandbox?.state.status !== "running") return unwanted();
  const { expiresAt } = sandbox.state;
  return { created: { cpu, memMb, diskGb, isolation, enforcement, expiresAt } };
}

function unwanted(): Refusal {
  const hint = "It was deleted while it was created, or its create took too long.";
  return refusal("NoCapacity", "The sandbox is not wanted any more.", { hint });
}
