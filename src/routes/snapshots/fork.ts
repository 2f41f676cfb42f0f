import { ApiError } from "@svc/contract/errors.ts";
import type { Snapshot } from "../../../control-plane/snapshots.ts";
import { notReady } from "../../../durable-objects/sandbox/snapshot.ts";
import { accepted } from "../../accepted.ts";
import type { AppContext } from "../../context.ts";
import { checkOrigin } from "../../origin.ts";
import type { WantedSandbox } from "../sandboxes/read-create.ts";
import { ownedSnapshot, savedOf } from "./record.ts";

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

/** Passes a snapshot that some host can go on from, as far as that is known. Throws why none can. */
export async function restorable(c: AppContext, snapshot: Snapshot): Promise<Snapshot> {
  accepted(notReady(snapshot) ?? snapshot);
  await checkOrigin(c.env, snapshot.kind, { saved: savedOf(snapshot), platform: null });
  return snapshot;
}
