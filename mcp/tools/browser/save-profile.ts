import * as z from "zod";
import { defineTool, ToolError } from "../../tool.ts";
import { sessionId } from "./arguments.ts";

export const browserSaveProfile = defineTool({
  name: "svc_browser_save_profile",
  title: "Save profile",
  description:
    "Save the browser's cookies and storage (its logins) as the next version of a profile: the one of profileId, the one of this name (made if there is none), or the one the browser began with.",
  input: z.strictObject({
    sessionId,
    profileId: z.string().optional(),
    name: z.string().optional().describe("Instead of profileId"),
  }),
  output: z.looseObject({ profileId: z.string(), version: z.number(), sizeBytes: z.number() }),
  hints: {},
  turn: "session",
  async run({ sessionId: id, profileId, name }, { svc, signal }) {
    if (profileId !== undefined && name !== undefined)
      throw new ToolError("ValidationError", "Give profileId or name, not both.");
    const browser = await svc.browsers.connect(id, { signal });
    return { json: await browser.saveProfile({ profileId, name }, { signal }) };
  },
});
