import { readFileSync, readdirSync, watch } from "node:fs";
import { join } from "node:path";
import { SnapshotTaken, VmPaused, VmResumed } from "@svc/contract/host-protocol/vm-states.ts";
import { expect } from "vitest";
import { cacheDirOf } from "../../../vm-host/config.ts";
import { below } from "../../browser-pool/processes.ts";
import { type Rig, pathOf } from "./rig.ts";

const RUNS_MS = 120_000;
/**
 * A shell line: a process begins to count, in memory, and how far it is lies in /run/n. It starts no other process, which
 * would take a whole processor under emulation.
 */
export const COUNT = `setsid perl -e '
  for (my $n = 1;; $n += 1) {
    open(my $file, ">", "/run/n"); print $file "$n\\n"; close($file); select(undef, undef, undef, 0.05);
  }' >/dev/null 2>&1 &`;
/** The memory of a template that is being made. */
const DRAFT = /\/templates\/[^/ ]+\.tmp\//;

export const post = (rig: Rig, id: string, act: string, body: object = {}): Promise<Response> =>
  rig.call("POST", `${pathOf(id)}/${act}`, id, body);

/** The body of an answer that is as it should be; else it is the fault's text. */
export async function bodyOf(response: Response, status: number): Promise<unknown> {
  const text = await response.text();
  if (response.status !== status) throw new Error(`${response.status} ${text}`);
  return JSON.parse(text);
}

export async function pause(rig: Rig, id: string): Promise<VmPaused> {
  const response = await post(rig, id, "pause");
  return VmPaused.parse(await bodyOf(response, 200));
}

export async function resume(rig: Rig, id: string): Promise<VmResumed> {
  const response = await post(rig, id, "resume");
  return VmResumed.parse(await bodyOf(response, 200));
}

export async function snapshot(rig: Rig, id: string, snapshotId: string): Promise<SnapshotTaken> {
  const response = await post(rig, id, "snapshot", { snapshotId });
  return SnapshotTaken.parse(await bodyOf(response, 201));
}

export function fork(rig: Rig, id: string, snapshotId: string) {
  return rig.place(id, { source: { type: "snapshot", id: snapshotId, recordPath: "" } });
}

/** Waits until a host runs so many: the process of one that was ended goes a moment later. */
export const runs = (rig: Rig, count: number): Promise<void> =>
  expect.poll(() => pidsOf(rig).length, { timeout: RUNS_MS }).toBe(count);

/** The processes of a host's machines, without those that become templates meanwhile. */
export const pidsOf = (rig: Rig): number[] =>
  qemusOf(rig)
    .filter(({ command }) => !DRAFT.test(command))
    .map(({ pid }) => pid);

/** All processes that a host has started machines with. */
export const qemusOf = (rig: Rig) =>
  below(rig.child.pid ?? 0).filter(({ command }) => command.includes("qemu-system"));

/** The folder of the records of one state folder. */
export function recordsOf(stateDir: string): string {
  const all = join(cacheDirOf(process.env), "records");
  const isOf = (name: string): boolean => {
    try {
      const text = readFileSync(join(all, name, "owner.json"), "utf8");
      return text.includes(JSON.stringify(stateDir));
    } catch {
      // Another host's, which comes or goes just now.
      return false;
    }
  };
  return join(all, readdirSync(all).find(isOf) ?? "");
}

/** Returns when the next saving of a machine is under way. */
export function drafted(stateDir: string): Promise<void> {
  return new Promise((resolve) => {
    const watcher = watch(recordsOf(stateDir), (_event, name) => {
      if (!name?.endsWith(".tmp")) return;
      watcher.close();
      resolve();
    });
  });
}
