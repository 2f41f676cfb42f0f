import { ApiError } from "@svc/contract/errors.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { logOf } from "@svc/contract/log.ts";
import { FileUploaded } from "@svc/contract/vm/files.ts";
import { clientGone } from "../../client-gone.ts";
import type { AppContext, Handler } from "../../context.ts";
import { tooLarge } from "../../middleware/body-cap.ts";
import { passOn } from "../../pass-on.ts";
import { type FileAtHost, fileAtHost, hostRefusal, unreachable } from "./machine.ts";
import { checkPath } from "./path.ts";

const log = logOf("src");

export const uploadFile: Handler = async (c) => {
  const claims = c.get("fileUrl");
  const path = claims.path ?? checkPath(c.req.query("path"));
  const answer = await send(c, await fileAtHost(c, claims, path));
  if (answer.status !== 200) throw await hostRefusal(answer, refused);
  return c.json(await receipt(answer));
};

async function send(c: AppContext, { url, headers }: FileAtHost): Promise<Response> {
  const { body, signal, isOver } = passOn(c.req.raw, LIMITS.fileBodyBytes);
  try {
    return await fetch(url, { method: "PUT", headers, body, signal, redirect: "manual" });
  } catch (error) {
    if (isOver()) throw tooLarge(LIMITS.fileBodyBytes);
    if (signal.aborted) throw clientGone(error, c.get("requestId"));
    log.warn("host_call_failed", { call: "PUT /vms/:id/files", reason: error });
    throw unreachable();
  }
}

async function receipt(answer: Response): Promise<FileUploaded> {
  try {
    return FileUploaded.parse(await answer.json());
  } catch {
    throw unreachable();
  }
}

const refused = (detail: string): ApiError =>
  new ApiError("GuestRefused", "The file cannot be written there.", { detail });
