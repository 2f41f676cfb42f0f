import * as z from "zod";
import { withMachine } from "../../machine/connection.ts";
import { readGuestFile } from "../../machine/file-reading.ts";
import { guestPath } from "../../machine/guest-path.ts";
import { sessionId } from "../../machine/session-id.ts";
import { defineTool } from "../../tool.ts";

export const readFile = defineTool({
  name: "svc_read_file",
  title: "Read file",
  description:
    "Read a file: text, base64, or a PNG or JPEG shown as a picture. downloadUrl of what is cut or binary fetches all of it for 15 minutes.",
  input: z.strictObject({
    sessionId,
    path: z.string().min(1).max(4096),
    encoding: z.enum(["utf8", "base64"]).default("utf8"),
    offset: z.int().min(0).default(0).describe("The first byte"),
    maxBytes: z.int().min(1).max(1_048_576).default(50_000),
  }),
  hints: { readOnly: true, idempotent: true },
  turn: "session",
  run: ({ sessionId: id, path, ...wanted }, context) =>
    withMachine(context, id, async (machine) => {
      const { signal } = context;
      return readGuestFile(machine, await guestPath(machine, path, signal), { ...wanted, signal });
    }),
});
