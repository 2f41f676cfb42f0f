import { ApiError, errorResponse } from "@svc/contract/errors.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { logOf } from "@svc/contract/log.ts";
import { within } from "../../../durable-objects/live/deadline.ts";
import { attachment } from "../../content-disposition.ts";
import type { Handler } from "../../context.ts";
import { filesAtPool } from "../sessions/files-at-pool.ts";
import { type FileAtHost, fileAtHost, kindIn } from "./machine.ts";

const log = logOf("src");

/** Headers of a request that the host judges: it alone knows the file. */
const ASKED = ["range", "if-range"];
/** Headers of an answer that the host makes. */
const ANSWERED = ["content-length", "content-range", "accept-ranges", "etag"];

/** Also HEAD, and one range of the file. */
export const downloadFile: Handler = async (c) => {
  const claims = c.get("fileUrl");
  const path = claims.path ?? "";
  const asked = picked(c.req.raw.headers, ASKED);
  const find = claims.of === "session" ? filesAtPool : fileAtHost;
  const file = await find(c, claims, path);
  const answer = await ask(file, c.req.raw.method, asked);
  if (answer.status === 416) return noRange(answer);
  if (answer.status !== 200 && answer.status !== 206) throw await file.refusal(answer);
  const headers = {
    ...picked(answer.headers, ANSWERED),
    "content-type": "application/octet-stream",
    "content-disposition": attachment(path),
    "cache-control": "private, no-store, no-transform",
    "x-content-type-options": "nosniff",
  };
  // When the host's stream breaks off, so does this one: a cut file never looks whole.
  return new Response(answer.body, { status: answer.status, headers });
};

/** Asks the host, which answers once it has the first bytes: a missing file is never a 200. */
async function ask(
  { url, headers, unreachable }: FileAtHost,
  method: string,
  asked: Record<string, string>,
): Promise<Response> {
  try {
    return await within(LIMITS.fileAnswerMs, (signal) =>
      fetch(url, {
        method,
        headers: { ...headers, ...asked },
        signal,
        redirect: "manual",
        cache: "no-store",
      }),
    );
  } catch (error) {
    log.warn("host_call_failed", { call: `${method} /${kindIn(url)}/:id/files`, reason: error });
    throw unreachable();
  }
}

function picked(headers: Headers, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = headers.get(name);
      return value === null ? [] : [[name, value]];
    }),
  );
}

function noRange(answer: Response): Response {
  const error = new ApiError("RangeNotSatisfiable", "The file ends before this range.");
  const response = errorResponse(error);
  const range = answer.headers.get("content-range");
  if (range !== null) response.headers.set("content-range", range);
  return response;
}
