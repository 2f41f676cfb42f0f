import * as z from "zod";
import { fromBase64 } from "../../machine/base64.ts";
import { withMachine } from "../../machine/connection.ts";
import { guestPath } from "../../machine/guest-path.ts";
import { sessionId } from "../../machine/session-id.ts";
import { defineTool } from "../../tool.ts";

export const writeFile = defineTool({
  name: "svc_write_file",
  title: "Write file",
  description: "Write a file, creating folders. What was there is replaced, unless append is set.",
  input: z.strictObject({
    sessionId,
    path: z.string().min(1).max(4096),
    content: z.string(),
    encoding: z.enum(["utf8", "base64"]).default("utf8"),
    append: z.boolean().default(false),
  }),
  hints: { destructive: true },
  turn: "session",
  run: ({ sessionId: id, path, content, encoding, append }, context) =>
    withMachine(context, id, async (machine) => {
      const { signal } = context;
      const data = encoding === "base64" ? fromBase64(content) : content;
      const absolute = await guestPath(machine, path, signal);
      const bytes = await machine.files.write(absolute, data, { append, signal });
      return { json: { path: absolute, bytes } };
    }),
});
