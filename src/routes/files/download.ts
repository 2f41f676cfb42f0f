import { ApiError } from "@svc/contract/errors.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { logOf } from "@svc/contract/log.ts";
import { within } from "../../../durable-objects/live/deadline.ts";
import { attachment } from "../../content-disposition.ts";
import type { Handler } from "../../context.ts";
import { type FileAtHost, fileAtHost, hostRefusal, unreachable } from "./machine.ts";

const log = logOf("src");

export const downloadFile: Handler = async (c) => {
  const claims = c.get("fileUrl");
  const path = claims.path ?? "";
  const answer = await ask(await fileAtHost(c, claims, path));
  if (answer.status !== 200) throw await hostRefusal(answer, noFile);
  const isHead = c.req.raw.method === "HEAD";
  if (isHead) await answer.body?.cancel();
  const headers = {
    "content-type": "application/octet-stream",
    "content-disposition": attachment(path),
    "cache-control": "private, no-store, no-transform",
    "x-content-type-options": "nosniff",
  };
  // When the host's stream breaks off, so does this one: a cut file never looks whole.
  return new Response(isHead ? null : answer.body, { headers });
};

/** Asks the host, which answers once it has the first bytes: a missing file is never a 200. */
async function ask({ url, headers }: FileAtHost): Promise<Response> {
  try {
    return await within(LIMITS.fileAnswerMs, (signal) =>
      fetch(url, { headers, signal, redirect: "manual", cache: "no-store" }),
    );
  } catch (error) {
    log.warn("host_call_failed", { call: "GET /vms/:id/files", reason: error });
    throw unreachable();
  }
}

const noFile = (detail: string): ApiError =>
  new ApiError("NotFound", "There is no such file.", { detail });
