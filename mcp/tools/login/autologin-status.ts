import * as z from "zod";
import { defineTool } from "../../tool.ts";

/** svc_browser_autologin_status */
export const autologinStatus = defineTool({
  name: "svc_browser_autologin_status",
  title: "List saved logins",
  description:
    "Lists the sites that this browser can log in to by itself, from logins that a person has saved with its profile. status: logged_in, logged_out, needs_human, failed or unknown. NoProfile: the browser began without a profile.",
  input: z.strictObject({
    sessionId: z.string(),
    site: z.string().optional().describe("This one alone, such as example.com."),
  }),
  output: z.looseObject({
    sites: z.array(z.looseObject({ site: z.string(), username: z.string(), status: z.string() })),
  }),
  hints: { readOnly: true, idempotent: true },
  turn: "none",
  async run({ sessionId, site }, { svc, signal }) {
    const browser = await svc.browsers.connect(sessionId, { signal });
    return { json: await browser.autologinSites(site, { signal }) };
  },
});
