import { ApiError, isRefusal } from "@svc/contract/errors.ts";
import type { Snapshot } from "../../../control-plane/snapshots.ts";
import { registeredHosts } from "../../../durable-objects/fleet.ts";
import { hostsFor, restorers } from "../../../durable-objects/fleet/restorable.ts";
import { notReady } from "../../../durable-objects/sandbox/snapshot.ts";
import type { AppContext } from "../../context.ts";
import type { WantedSandbox } from "../sandboxes/read-create.ts";
import { ownedSnapshot } from "./record.ts";

/** The snapshot that a create begins from, when it names one. Throws what stands against it, before any host is asked. */
export async function forkOf(
  c: AppContext,
  { source, kind }: WantedSandbox,
): Promise<Snapshot | null> {
  if (source.type !== "snapshot") return null;
  const snapshot = await ownedSnapshot(c, source.id);
  if (snapshot.kind !== kind) {
    const text = `fromSnapshot: it is of a ${snapshot.kind}, not of a ${kind}`;
    throw new ApiError("ValidationError", text, { field: "fromSnapshot" });
  }
  return restorable(c, snapshot);
}

/** A snapshot that some host can go on from, as far as that is known. Throws why none can. */
export async function restorable(c: AppContext, snapshot: Snapshot): Promise<Snapshot> {
  // Without the registry it is for the hosts to say.
  const fleet = restorers(await registeredHosts(c.env).catch(() => []), snapshot.kind);
  const hosts = hostsFor(fleet, snapshot);
  const refused = notReady(snapshot) ?? (isRefusal(hosts) ? hosts : null);
  if (!refused) return snapshot;
  const { code, message, context } = refused.refused;
  throw new ApiError(code, message, context);
}
