import * as z from "zod";
import { defineTool } from "../../tool.ts";

export const browserProfiles = defineTool({
  name: "svc_browser_profiles",
  title: "List profiles",
  description:
    "List saved profiles: cookies and storage that svc_browser_create can start with (profileId).",
  input: z.strictObject({}),
  output: z.looseObject({
    profiles: z.array(z.looseObject({ id: z.string(), name: z.string() })),
  }),
  hints: { readOnly: true, idempotent: true },
  turn: "none",
  async run(_args, { svc, signal }) {
    const { items } = await svc.profiles.list({ signal }).page();
    return { json: { profiles: items } };
  },
});
