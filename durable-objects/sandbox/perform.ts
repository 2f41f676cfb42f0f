import { previewLabel } from "@svc/contract/vm/preview.ts";
import { forgetPreview } from "../../control-plane/previews.ts";
import { dropChild } from "../../control-plane/snapshot-lineage.ts";
import { writeSegment } from "../../control-plane/usage.ts";
import { isOver, type StoredSandbox, viewOf } from "./record.ts";
import type { SandboxEvent } from "./state.ts";
import type { Act, Duty } from "./duties.ts";
import { giveBackVolumes } from "./volumes.ts";
import { endVm } from "../host-calls/vms.ts";

/** Does one duty, from the sandbox as it is now, so that late or twice does no harm. Answers what it found out. */
export async function perform(
  env: Env,
  sandbox: StoredSandbox,
  duty: Exclude<Duty, Act>,
): Promise<SandboxEvent | null> {
  switch (duty) {
    case "index":
      return settleIndex(env, sandbox);
    case "usage":
      return settleUsage(env, sandbox);
    case "host":
      return settleHost(env, sandbox);
    case "machine":
      if (sandbox.place) await endVm(env, sandbox.place.url, sandbox);
      // Before the caller of a DELETE hears of it. What fails here is owed.
      await giveBackVolumes(env, sandbox).catch(() => undefined);
      return { type: "hostFreed" };
    case "volumes":
      await giveBackVolumes(env, sandbox);
      return null;
  }
}

/** The org's list and its reservation are one row: what is over holds no place, and no host name. */
async function settleIndex(env: Env, sandbox: StoredSandbox): Promise<null> {
  const org = env.ORGS.getByName(sandbox.org);
  const view = viewOf(sandbox);
  if (view) await org.noteSandbox(view);
  else await org.dropSandbox(sandbox.id);
  if (sandbox.publicPorts && isOver(sandbox))
    await forgetPreview(env.DB, await previewLabel(sandbox.id));
  if (sandbox.fromSnapshot !== null && isOver(sandbox)) await dropChild(env.DB, sandbox.id);
  return null;
}

async function settleUsage(env: Env, sandbox: StoredSandbox): Promise<SandboxEvent> {
  const { id, org: orgId, cpu, memMb, state } = sandbox;
  const { spans } = state.bill;
  for (const { n, startedAt, endedAt } of spans) {
    const segment = { id: `${id} ${n}`, orgId, kind: "vm", startedAt, endedAt } as const;
    await writeSegment(env.DB, { ...segment, cpu, memMb });
  }
  return { type: "billed", spans };
}

/** The host's object keeps what is placed on it: told here of the beginning and the end. */
async function settleHost(env: Env, sandbox: StoredSandbox): Promise<SandboxEvent | null> {
  const { id, place, state } = sandbox;
  if (!place) return null;
  const host = env.HOSTS.getByName(place.hostId);
  if (state.status === "running" || state.status === "paused") {
    const verdict = await host.place(id, place.bootId, place.seq);
    return verdict.type === "done" ? null : verdict;
  }
  await host.forget(id);
  return null;
}
