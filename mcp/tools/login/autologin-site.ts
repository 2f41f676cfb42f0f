import { AUTOLOGIN_SECONDS } from "@svc/contract/browser/autologin.ts";
import * as z from "zod";
import { defineTool } from "../../tool.ts";

const { least, most, usual } = AUTOLOGIN_SECONDS;

/** svc_browser_autologin_site */
export const autologinSite = defineTool({
  name: "svc_browser_autologin_site",
  title: "Log in with a saved login",
  description:
    "Logs the browser in to a site with a login that a person has saved with its profile; you never see the password. status logged_in or already_logged_in: go on. needs_human (reason: captcha, second_factor, no_form, form_in_frame): call svc_browser_login so that a person does it. failed: the reason says why; do not repeat it, as sites lock accounts.",
  input: z.strictObject({
    sessionId: z.string(),
    site: z.string().min(1).max(253).describe("As autologin_status lists it."),
    force: z.boolean().default(false).describe("Also when it seems to be logged in."),
    timeoutSeconds: z.number().min(least).max(most).default(usual),
  }),
  output: z.looseObject({
    status: z.enum(["already_logged_in", "logged_in", "needs_human", "failed"]),
    reason: z.string().optional(),
    url: z.string(),
    title: z.string(),
  }),
  hints: { openWorld: true },
  turn: "session",
  async run({ sessionId, ...wanted }, { svc, signal }) {
    const browser = await svc.browsers.connect(sessionId, { signal });
    // The call's own deadline, which counts timeoutSeconds, ends the wait.
    return { json: await browser.autologin(wanted, { signal, timeoutMs: Infinity }) };
  },
});
