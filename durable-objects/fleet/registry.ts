import type { HostRecord } from "@svc/contract/admin/hosts.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { isRecent } from "@svc/contract/time.ts";
import { atMost } from "../live/deadline.ts";
import { logOf } from "@svc/contract/log.ts";
import { proxyDurable } from "itty-durable/proxy-durable.js";

const log = logOf("durable-objects");

export interface FleetClient {
  put(host: HostRecord): Promise<{ known: number }>;
  remove(hostId: string): Promise<{ known: number }>;
  list(): Promise<HostRecord[]>;
}

/** The list as this isolate last read it, so that creates do not all meet in one object. */
let held: { hosts: HostRecord[]; at: number } | null = null;
/** How often this isolate has changed the list: what was read before a change is not held after it. */
let changes = 0;

/** The registered hosts, at most a second old. Rejects when the registry does not answer in time. */
export async function registeredHosts(env: Env): Promise<HostRecord[]> {
  if (held && isRecent(held.at, LIMITS.fleetHeldMs, Date.now())) return held.hosts;
  const before = changes;
  const hosts = await atMost(LIMITS.fleetAnswerMs, fleet(env).list());
  if (changes === before) held = { hosts, at: Date.now() };
  return hosts;
}

/** The registered hosts; none while the registry does not answer. */
export async function knownHosts(env: Env): Promise<HostRecord[]> {
  try {
    return await registeredHosts(env);
  } catch (error) {
    log.error("registry_unanswered", { reason: error });
    return [];
  }
}

function hasChanged(): void {
  held = null;
  changes += 1;
}

/** A plain object of functions: the proxied stub itself hangs when awaited (it looks like a promise). */
export function fleet(env: Env): FleetClient {
  const stub = proxyDurable(env.FLEET, { name: "FLEET", parse: true }).get("fleet") as FleetClient;
  return {
    put: async (host) => {
      const answer = await stub.put(host);
      hasChanged();
      return answer;
    },
    remove: async (hostId) => {
      const answer = await stub.remove(hostId);
      hasChanged();
      return answer;
    },
    list: () => stub.list(),
  };
}
