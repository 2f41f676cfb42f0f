import * as z from "zod";
import { withMachine } from "../../machine/connection.ts";
import { guestPath } from "../../machine/guest-path.ts";
import { sessionId } from "../../machine/session-id.ts";
import { defineTool } from "../../tool.ts";

export const listFiles = defineTool({
  name: "svc_list_files",
  title: "List files",
  description: "List a folder, and the folders in it down to depth.",
  input: z.strictObject({
    sessionId,
    path: z.string().min(1).max(4096).default(".").describe("The home folder unless said"),
    depth: z.int().min(1).max(5).default(1),
    limit: z.int().min(1).max(2000).default(500),
  }),
  hints: { readOnly: true, idempotent: true },
  turn: "session",
  run: ({ sessionId: id, path, depth, limit }, context) =>
    withMachine(context, id, async (machine) => {
      const { signal } = context;
      const absolute = await guestPath(machine, path, signal);
      const found = await machine.files.list(absolute, { depth, limit }, { signal });
      const entries = found.entries.map(({ path: at, type, size, mtime, target }) => ({
        path: at,
        type,
        size,
        modified: mtime,
        ...(target !== undefined && { target }),
      }));
      return { json: { path: absolute, truncated: found.truncated, entries } };
    }),
});
