import { newSnapshotId } from "@svc/contract/ids.ts";
import { CreateSnapshot } from "@svc/contract/vm/snapshot.ts";
import { accepted } from "../../accepted.ts";
import { parseObject } from "../../body.ts";
import type { AppContext, Handler } from "../../context.ts";
import { ownedSandbox } from "../sandboxes/owned.ts";
import { recordOf } from "./record.ts";

/** Reads POST /sandboxes/:id/snapshots: the sandbox, the name and the labels. Throws the 404 and the 400 that need no object. */
export async function readSnapshotWish(c: AppContext) {
  const sandbox = await ownedSandbox(c);
  const { name, metadata } = await parseObject(c, CreateSnapshot);
  return { sandbox, name: name?.trim() || "snapshot", metadata: metadata ?? {} };
}

export const createSnapshot: Handler = async (c) => {
  const { sandbox, name, metadata } = await readSnapshotWish(c);
  const {
    planName: plan,
    plan: { snapshots: cap, storedGib },
  } = c.get("caller");
  const order = {
    id: newSnapshotId(),
    name,
    metadata,
    createdAt: Date.now(),
    plan,
    cap,
    storedGib,
  };
  const { snapshot } = accepted(await sandbox.ask((object) => object.snapshot(order)));
  return c.json(recordOf(snapshot), 201);
};
