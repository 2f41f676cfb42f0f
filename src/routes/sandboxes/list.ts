import { VmKind } from "@svc/contract/vm/machine.ts";
import { type SandboxList, SandboxState } from "@svc/contract/vm/sandbox.ts";
import type { SandboxQuery } from "../../../durable-objects/org/messages.ts";
import type { AppContext, Handler } from "../../context.ts";
import { reach } from "../../objects.ts";
import { labelsOf } from "../labels.ts";
import { pageLimit } from "../page.ts";
import { recordOf } from "./record.ts";

/** Lists never refuse: values in the query that they do not understand are ignored (document 2). A list is no use. */
export const listSandboxes: Handler = async (c) => {
  const org = c.env.ORGS.getByName(c.get("caller").orgId);
  const { sandboxes, nextCursor } = await reach(() => org.sandboxes(queryOf(c)));
  const body: SandboxList = {
    sandboxes: sandboxes.map(recordOf),
    ...(nextCursor && { nextCursor }),
  };
  return c.json(body);
};

function queryOf(c: AppContext): SandboxQuery {
  return {
    state: SandboxState.safeParse(c.req.query("state")).data ?? null,
    kind: VmKind.safeParse(c.req.query("kind")).data ?? null,
    limit: pageLimit(c),
    cursor: c.req.query("cursor") ?? null,
    metadata: labelsOf(c),
  };
}
