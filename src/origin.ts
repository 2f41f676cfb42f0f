import type { VmKind } from "@svc/contract/vm/machine.ts";
import { knownHosts } from "../durable-objects/fleet/registry.ts";
import {
  hostsFor,
  hostsWith,
  type Origin,
  restoring,
} from "../durable-objects/fleet/restorable.ts";
import { accepted } from "./accepted.ts";

/**
 * Throws why a snapshot or template can go on at no registered host, before any host is asked. Without the registry it is
 * for the hosts to say.
 */
export async function checkOrigin(env: Env, kind: VmKind, origin: Origin): Promise<void> {
  accepted(hostsFor(hostsWith(await knownHosts(env), restoring(kind)), origin));
}
