import { Health } from "@svc/contract/browser/health.ts";
import {
  type Process,
  descriptors,
  find,
  processes,
  readProc,
  slotsOf,
  treeOf,
} from "../machine/processes.ts";
import { residentMib } from "../machine/memory.ts";
import { hostNetwork, networksOf } from "../machine/networks.ts";
import type { Customer } from "../service/customer.ts";
import type { Service } from "../service/service.ts";
import type { PoolRuns } from "./runs.ts";

/** What a service holds at a moment, by name. Each entry may grow by its tolerance only. */
export type Inventory = Record<string, number>;

/** Files are opened as they are first used: what a process holds varies a little with its age. */
const TOLERANCE: Record<string, number> = {
  "descriptors: supervisor": 2,
  "descriptors: gateway": 6,
  "descriptors: workerd": 12,
  "descriptors: pool": 6,
  // A heap that nothing presses keeps some of its garbage.
  "MiB: pool": 150,
};

export interface Place {
  service: Service;
  customer: Customer;
  runs: PoolRuns;
}

/** Looks at everything that could be left behind. Refuses while a part of the service is away. */
export async function takeInventory({ service, customer, runs }: Place): Promise<Inventory> {
  const all = processes();
  const family = treeOf(service.supervisor.pid, all);
  const [gateway, workerd, pool] = (["gateway", "workerd", "pool"] as const).map((role) => {
    const process = find(role, service.supervisor.pid, all);
    if (!process) throw new Error(`there is no ${role}`);
    return process.pid;
  });
  const slots = slotsOf(pool ?? 0, all);
  const inSlots = slots.flatMap(({ pid }) => treeOf(pid, all));
  const folders = runs.folders();
  const cgroups = await runs.cgroups();
  const { busy, recycling } = Health.parse(
    await (await fetch(new URL("/health", service.url))).json(),
  );
  return {
    "processes outside of slots": family.length - inSlots.length,
    "processes: slots": slots.length,
    "processes in slots": inSlots.length,
    "processes: zombies": family.filter(({ isZombie }) => isZombie).length,
    "processes: strays": strays(service, runs, family, all).length,
    "network namespaces": networksOf([...family, ...strays(service, runs, family, all)]),
    ...(await hostNetwork()),
    "folders: runs": folders.runs,
    "folders: slots": folders.slots,
    "cgroups: runs": cgroups.runs,
    "cgroups: slots": cgroups.slots,
    "descriptors: supervisor": descriptors(service.supervisor.pid),
    "descriptors: gateway": descriptors(gateway ?? 0),
    "descriptors: workerd": descriptors(workerd ?? 0),
    "descriptors: pool": descriptors(pool ?? 0),
    "MiB: pool": Math.round(residentMib(pool ?? 0)),
    "slots: busy": busy,
    "slots: recycling": recycling,
    "sessions: active": (await customer.list("active")).length,
    "sessions: unknown": (await customer.list("unknown")).length,
  };
}

/** What is there after the service has ended. */
export async function takeRemains({ service, runs }: Place): Promise<Inventory> {
  const folders = runs.folders();
  const cgroups = await runs.cgroups();
  return {
    "after the stop: processes": strays(service, runs, [], processes()).length,
    ...(await hostNetwork()),
    "after the stop: folders": folders.runs + folders.slots,
    "after the stop: cgroups": cgroups.runs + cgroups.slots,
  };
}

/** What of it is more than before. */
export function leftOver(before: Inventory, after: Inventory): Inventory {
  const grown = Object.entries(after).map(([name, count]): [string, number] => {
    const growth = count - (before[name] ?? 0);
    return [name, growth > (TOLERANCE[name] ?? 0) ? growth : 0];
  });
  return Object.fromEntries(grown);
}

/** Processes that carry the mark of this service and have no parent in it. */
function strays(service: Service, runs: PoolRuns, family: Process[], all: Process[]): Process[] {
  const known = new Set(family.map(({ pid }) => pid));
  return all.filter(({ pid, command }) => {
    if (known.has(pid)) return false;
    const isMarked = command.includes(service.folder) || runs.holds(pid);
    return isMarked || readProc(pid, "environ").includes(service.folder);
  });
}
