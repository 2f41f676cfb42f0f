import { SCREEN_DEFAULT, SCREEN_MOST, VM_SIZES } from "@svc/contract/vm/machine.ts";
import * as z from "zod";
import { size, whenMade } from "../../machine/creation.ts";
import { defineTool } from "../../tool.ts";

export const desktopCreate = defineTool({
  name: "svc_desktop_create",
  title: "Start desktop",
  description:
    "Start a billable Linux desktop microVM with a screen. streamUrl shows it live to whoever has the URL. It pauses when idle; svc_kill destroys it.",
  input: z.strictObject({
    template: z.string().default("default").describe("default, office, code, or a tpl_ id"),
    resolution: z
      .string()
      .default(SCREEN_DEFAULT)
      .describe(`WIDTHxHEIGHT, at most ${SCREEN_MOST.width}x${SCREEN_MOST.height}`),
    cpu: size(VM_SIZES.cpu),
    memMb: size(VM_SIZES.memMb),
    timeoutMs: z
      .int()
      .min(1000)
      .optional()
      .describe("Idle time after which it pauses; 30 min unless said"),
    record: z.boolean().default(false).describe("Record the screen from the first moment on"),
  }),
  output: z.looseObject({
    sessionId: z.string(),
    kind: z.string(),
    streamUrl: z.string(),
    expiresAt: z.string(),
    recordingUrl: z.string().optional(),
  }),
  hints: {},
  turn: "none",
  async run(wanted, { svc, signal, progress }) {
    progress("A desktop is being started");
    const { id, streamUrl, created } = await whenMade(svc.desktops.create(wanted), signal);
    const { expiresAt, recordingUrl } = created ?? {};
    const recorded = recordingUrl !== undefined && { recordingUrl };
    return { json: { sessionId: id, kind: "desktop", streamUrl, expiresAt, ...recorded } };
  },
});
