import { ApiError } from "@svc/contract/errors.ts";
import type { Deleted } from "@svc/contract/vm/sandbox.ts";
import { deleteSnapshot as markDeleted } from "../../../control-plane/snapshot-lineage.ts";
import type { Handler } from "../../context.ts";
import { removeSnapshot } from "../../snapshot-removal.ts";
import { noSnapshot } from "./record.ts";

export const deleteSnapshot: Handler = async (c) => {
  const { orgId: org } = c.get("caller");
  const id = c.req.param("id") ?? "";
  const deletion = await markDeleted(c.env.DB, org, id, Date.now());
  switch (deletion.type) {
    case "missing":
      throw noSnapshot();
    case "creating":
      throw new ApiError("SnapshotNotReady", "The snapshot is still being taken. Try again.");
    case "children": {
      const { children, some: holders } = deletion;
      const text = "Live machines descend from this snapshot. Delete them first.";
      throw new ApiError("SnapshotHasChildren", text, { children, holders });
    }
    case "deleted": {
      const { hostId } = deletion;
      // The scheduled job does what this leaves undone.
      c.executionCtx.waitUntil(removeSnapshot(c.env, { id, org, hostId }).catch(() => false));
      const body: Deleted = { ok: true };
      return c.json(body);
    }
  }
};
