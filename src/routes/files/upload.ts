import { ApiError } from "@svc/contract/errors.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { logOf } from "@svc/contract/log.ts";
import { FileUploaded } from "@svc/contract/vm/files.ts";
import type * as z from "zod";
import { clientGone } from "../../client-gone.ts";
import type { AppContext, Handler } from "../../context.ts";
import { tooLarge } from "../../middleware/body-cap.ts";
import { passOn } from "../../pass-on.ts";
import { type FileAtHost, fileAtHost, hostRefusal, kindIn } from "./machine.ts";
import { checkPath } from "./path.ts";

const log = logOf("src");

export const uploadFile: Handler = async (c) => {
  const claims = c.get("fileUrl");
  const path = claims.path ?? checkPath(c.req.query("path"));
  const file = await fileAtHost(c, claims, path);
  const answer = await send(c, file, LIMITS.fileBodyBytes);
  if (answer.status !== 200) throw await hostRefusal(answer, refused);
  return c.json(await receipt(answer, FileUploaded, file));
};

/** Passes the body of a request on to a host. */
export async function send(
  c: AppContext,
  { url, headers, unreachable }: FileAtHost,
  atMost: number,
): Promise<Response> {
  const { body, signal, isOver } = passOn(c.req.raw, atMost);
  try {
    return await fetch(url, { method: "PUT", headers, body, signal, redirect: "manual" });
  } catch (error) {
    if (isOver()) throw tooLarge(atMost);
    if (signal.aborted) throw clientGone(error, c.get("requestId"));
    log.warn("host_call_failed", { call: `PUT /${kindIn(url)}/:id/files`, reason: error });
    throw unreachable();
  }
}

/** The host's receipt for a file. */
export async function receipt<Receipt>(
  answer: Response,
  schema: z.ZodType<Receipt>,
  { unreachable }: FileAtHost,
): Promise<Receipt> {
  try {
    return schema.parse(await answer.json());
  } catch {
    throw unreachable();
  }
}

const refused = (detail: string): ApiError =>
  new ApiError("GuestRefused", "The file cannot be written there.", { detail });
