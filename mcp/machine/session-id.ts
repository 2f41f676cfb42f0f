import * as z from "zod";

/** The machine that a tool works with. */
export const sessionId = z
  .string()
  .min(1)
  .max(500)
  .describe("Of svc_sandbox_create, svc_desktop_create or svc_list");
