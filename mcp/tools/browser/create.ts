import { PROXY_COUNTRIES } from "@svc/contract/browser/proxy.ts";
import * as z from "zod";
import { chooseProfile } from "../../default-profile.ts";
import { defineTool } from "../../tool.ts";

export const browserCreate = defineTool({
  name: "svc_browser_create",
  title: "Start browser",
  description:
    "Start a billable cloud browser and get its sessionId. Without arguments it is a stealth browser that solves captchas. Close it with svc_browser_close; after 10 idle minutes it closes by itself.",
  input: z.strictObject({
    mode: z
      .enum(["stealth", "fast"])
      .default("stealth")
      .describe("fast is cheaper, and seen as automation by sites that look for it"),
    proxy: z
      .enum(["off", "smart", ...PROXY_COUNTRIES])
      .default("off")
      .describe("smart (only when a site blocks) or a country; needs mode stealth"),
    captcha: z
      .boolean()
      .optional()
      .describe("Solve captchas: on in stealth, off in fast unless said"),
    recording: z.boolean().default(false).describe("Record a replay: see svc_browser_replay_url"),
    profileId: z.string().optional().describe("To start with: see svc_browser_profiles"),
  }),
  output: z.looseObject({
    sessionId: z.string(),
    mode: z.string(),
    expiresAt: z.string(),
    captcha: z.looseObject({ active: z.boolean() }),
    profileId: z.string().optional(),
    profileSource: z.enum(["explicit", "default"]).optional(),
    defaultOrigin: z.enum(["header", "query", "env"]).optional(),
    proxy: z.looseObject({}).optional(),
  }),
  hints: { openWorld: true },
  turn: "none",
  async run({ mode, proxy, recording, profileId, captcha = mode === "stealth" }, context) {
    const { svc, signal, lease, opened } = context;
    const profile = await chooseProfile(context, profileId);
    const wanted = {
      stealth: mode === "stealth",
      captcha,
      recording,
      lease,
      profileId: profile.profileId,
      ...(proxy !== "off" && { proxy }),
    };
    const browser = await svc.browsers.create(wanted, { signal });
    opened(browser.id);
    return {
      json: {
        sessionId: browser.id,
        mode,
        expiresAt: browser.expiresAt,
        captcha: browser.captcha ?? { active: false },
        ...profile,
        ...(browser.proxy && { proxy: browser.proxy }),
      },
    };
  },
});
