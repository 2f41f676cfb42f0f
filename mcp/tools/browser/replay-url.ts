import * as z from "zod";
import { ApiError, TimeoutError } from "@svc/sdk/errors.ts";
import { defineTool, ToolError } from "../../tool.ts";
import { sessionId } from "./arguments.ts";

export const browserReplayUrl = defineTool({
  name: "svc_browser_replay_url",
  title: "Replay URL",
  description:
    "URLs of the recording of a browser that was created with recording and is closed: the file, and a page that plays it (viewUrl) to give to the user. Both work for some minutes.",
  input: z.strictObject({
    sessionId,
    waitSeconds: z.number().min(0).max(30).default(10).describe("Wait so long for the recording"),
  }),
  output: z.looseObject({
    url: z.string(),
    expiresInSeconds: z.number(),
    contentEncoding: z.string(),
    viewUrl: z.string(),
  }),
  hints: { readOnly: true, idempotent: true },
  turn: "none",
  async run({ sessionId: id, waitSeconds }, { svc, signal }) {
    const replay = svc.browsers.replay(id);
    try {
      const timeoutMs = waitSeconds * 1_000;
      const asked = waitSeconds > 0 ? replay.wait({ signal, timeoutMs }) : replay.url({ signal });
      const { playerUrl: viewUrl, ...facts } = await asked;
      return { json: { ...facts, viewUrl } };
    } catch (error) {
      throw refused(error);
    }
  },
});

function refused(error: unknown): unknown {
  if (error instanceof TimeoutError || codeOf(error) === "ReplayPending")
    return new ToolError(
      "ReplayPending",
      "The recording is not there yet. It comes a few seconds after the browser is closed: close it with svc_browser_close if it is open, then call again.",
    );
  if (error instanceof ApiError && error.status === 404)
    return new ToolError(
      // The answer of an id that is nobody's has no code on the wire.
      codeOf(error) ?? "ReplayNotFound",
      "There is no recording of this browser: it was created without recording=true, the recording has been deleted, or the id is wrong. Calling again does not help.",
    );
  return error;
}

const codeOf = (error: unknown): string | undefined =>
  error instanceof ApiError ? error.code : undefined;
