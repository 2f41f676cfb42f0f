import { previewLabel } from "@svc/contract/vm/preview.ts";
import { forgetPreview } from "../../control-plane/previews.ts";
import { dropChild } from "../../control-plane/snapshot-lineage.ts";
import { writeSegment } from "../../control-plane/usage.ts";
import { endVm } from "../host-calls/vms.ts";
import { notePlacement } from "../host/placement.ts";
import { checkpoint } from "./checkpoint.ts";
import type { SandboxDuty } from "./duties.ts";
import { park } from "./park.ts";
import { isOver, type LiveSandbox, type StoredSandbox, viewOf } from "./record.ts";
import { endIdle, pauseIdle } from "./rest.ts";
import { breakOff } from "./snapshot.ts";
import type { SandboxEvent } from "./state.ts";
import { giveBackVolumes } from "./volumes.ts";
import { tried } from "../live/tried.ts";

/** Does one duty, from the sandbox as it is now, so that late or twice does no harm. Answers what it found out. */
export async function perform(
  live: LiveSandbox,
  sandbox: StoredSandbox,
  duty: SandboxDuty,
): Promise<readonly SandboxEvent[]> {
  const { env } = live;
  switch (duty) {
    case "index":
      return writeIndex(env, sandbox);
    case "usage":
      return writeUsage(env, sandbox);
    case "host":
      return tellHost(live, sandbox);
    case "machine":
      return endMachine(env, sandbox);
    case "volumes":
      await giveBackVolumes(env, sandbox);
      return [];
    case "pause":
      return pauseIdle(live);
    case "end":
      return endIdle(live);
    case "park":
      return park(live);
    case "checkpoint":
      await checkpoint(live);
      return [];
    case "snapshot":
      await breakOff(live);
      return [];
  }
}

/** The org's list and its reservation are one row: a sandbox that is over holds no place, and no host name. */
async function writeIndex(env: Env, sandbox: StoredSandbox): Promise<[]> {
  const org = env.ORGS.getByName(sandbox.org);
  const view = viewOf(sandbox);
  if (view) await org.noteSandbox(view);
  else await org.dropSandbox(sandbox.id);
  if (sandbox.publicPorts && isOver(sandbox))
    await forgetPreview(env.DB, await previewLabel(sandbox.id));
  if (sandbox.fromSnapshot !== null && isOver(sandbox)) await dropChild(env.DB, sandbox.id);
  return [];
}

async function writeUsage(env: Env, sandbox: StoredSandbox): Promise<SandboxEvent[]> {
  const { id, org: orgId, cpu, memMb, state } = sandbox;
  const { spans } = state.bill;
  for (const { n, startedAt, endedAt } of spans) {
    const segment = { id: `${id} ${n}`, orgId, kind: "vm", startedAt, endedAt } as const;
    await writeSegment(env.DB, { ...segment, cpu, memMb });
  }
  return [{ type: "billed", spans }];
}

async function tellHost(
  { env, record, lane }: LiveSandbox,
  seen: StoredSandbox,
): Promise<SandboxEvent[]> {
  // What the host's object knows is compared with the answer to the last change.
  await lane.settled();
  const sandbox = record.load() ?? seen;
  const { status } = sandbox.state;
  return notePlacement(env, sandbox, status === "running" || status === "paused");
}

async function endMachine(env: Env, sandbox: StoredSandbox): Promise<SandboxEvent[]> {
  if (sandbox.place) await endVm(env, sandbox.place.url, sandbox);
  // Before the caller of a DELETE hears of it. What fails here is owed.
  await tried("volumes_not_given_back_yet", giveBackVolumes(env, sandbox));
  return [{ type: "hostFreed" }];
}
