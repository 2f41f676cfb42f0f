import { VmKind } from "@svc/contract/vm/machine.ts";
import type { SnapshotList } from "@svc/contract/vm/snapshot.ts";
import { listSnapshots as pageOf } from "../../../control-plane/snapshots.ts";
import type { Handler } from "../../context.ts";
import { labelsOf } from "../labels.ts";
import { pageLimit } from "../page.ts";
import { recordOf } from "./record.ts";

/** Lists never refuse: values in the query that they do not understand are ignored. */
export const listSnapshots: Handler = async (c) => {
  const { snapshots, nextCursor } = await pageOf(c.env.DB, c.get("caller").orgId, {
    limit: pageLimit(c),
    cursor: c.req.query("cursor") ?? null,
    sandboxId: c.req.query("sandboxId") ?? null,
    kind: VmKind.safeParse(c.req.query("kind")).data ?? null,
    metadata: labelsOf(c),
  });
  const body: SnapshotList = {
    snapshots: snapshots.map(recordOf),
    ...(nextCursor !== null && { nextCursor }),
  };
  return c.json(body);
};
