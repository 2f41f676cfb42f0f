import { VmKind } from "@svc/contract/vm/machine.ts";
import { SandboxState } from "@svc/contract/vm/sandbox.ts";
import * as z from "zod";
import { defineTool } from "../../tool.ts";

const machine = z.looseObject({ sessionId: z.string(), kind: z.string(), state: z.string() });

export const list = defineTool({
  name: "svc_list",
  title: "List machines",
  description: "List sandboxes and desktops, newest first. Does not keep them alive.",
  input: z.strictObject({
    kind: VmKind.optional(),
    state: SandboxState.optional(),
    limit: z.int().min(1).max(100).default(50),
    cursor: z.string().optional().describe("nextCursor of the page before"),
  }),
  output: z.looseObject({ sandboxes: z.array(machine), nextCursor: z.string().optional() }),
  hints: { readOnly: true, idempotent: true },
  turn: "none",
  async run({ cursor, ...filter }, { svc, signal }) {
    const { items, nextCursor } = await svc.sandboxes.list({ ...filter, signal }).page(cursor);
    const sandboxes = items.map(({ sandboxId, ...rest }) => ({ sessionId: sandboxId, ...rest }));
    return { json: { sandboxes, ...(nextCursor !== undefined && { nextCursor }) } };
  },
});
