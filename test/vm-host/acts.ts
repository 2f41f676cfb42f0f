import { readdirSync } from "node:fs";
import { join } from "node:path";
import { SnapshotTaken, VmPaused, VmResumed } from "@svc/contract/host-protocol/vm-states.ts";
import { expect } from "vitest";
import { cacheDirOf } from "../../vm-host/config.ts";
import { below } from "../browser-pool/processes.ts";
import { type Rig, pathOf } from "./rig.ts";

export const post = (rig: Rig, id: string, act: string, body: object = {}): Promise<Response> =>
  rig.call("POST", `${pathOf(id)}/${act}`, id, body);

export async function pause(rig: Rig, id: string): Promise<VmPaused> {
  const response = await post(rig, id, "pause");
  expect(response.status).toBe(200);
  return VmPaused.parse(await response.json());
}

export async function resume(rig: Rig, id: string): Promise<VmResumed> {
  const response = await post(rig, id, "resume");
  expect([response.status, await response.clone().text()]).toEqual([200, expect.any(String)]);
  return VmResumed.parse(await response.json());
}

export async function snapshot(rig: Rig, id: string, snapshotId: string): Promise<SnapshotTaken> {
  const response = await post(rig, id, "snapshot", { snapshotId });
  expect([response.status, await response.clone().text()]).toEqual([201, expect.any(String)]);
  return SnapshotTaken.parse(await response.json());
}

export function fork(rig: Rig, id: string, snapshotId: string) {
  return rig.place(id, { source: { type: "snapshot", id: snapshotId, recordPath: "" } });
}

/** How many machines a host runs. */
export const machinesOf = (rig: Rig): number =>
  below(rig.child.pid ?? 0).filter(({ command }) => command.includes("qemu-system")).length;

/** Folders and layers of every host's records. */
export const kept = (): string[] =>
  readdirSync(join(cacheDirOf(process.env), "records"), { recursive: true }).map(String);
