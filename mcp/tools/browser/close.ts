import * as z from "zod";
import { ApiError } from "@svc/sdk/errors.ts";
import { defineTool, ToolError } from "../../tool.ts";
import { sessionId } from "./arguments.ts";

export const browserClose = defineTool({
  name: "svc_browser_close",
  title: "Close browser",
  description: "Release the browser and stop billing. One that is closed already stays closed.",
  input: z.strictObject({ sessionId }),
  hints: { destructive: true, idempotent: true },
  turn: "none",
  async run({ sessionId: id }, { svc, signal }) {
    try {
      await svc.browsers.release(id, { signal });
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== "InvalidSessionId") throw error;
      throw new ToolError(error.code, "There is no browser of this id: nothing was released.");
    }
    return { json: { released: true } };
  },
});
