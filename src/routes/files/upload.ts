import { ApiError } from "@svc/contract/errors.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { FileUploaded } from "@svc/contract/vm/files.ts";
import type { Handler } from "../../context.ts";
import { storeFile } from "../sessions/store-file.ts";
import { fileAtHost, hostRefusal } from "./machine.ts";
import { checkPath } from "./path.ts";
import { receipt, send } from "./send.ts";

export const uploadFile: Handler = async (c) => {
  const claims = c.get("fileUrl");
  if (claims.of === "session") return c.json(await storeFile(c, claims, claims.path ?? ""));
  const path = claims.path ?? checkPath(c.req.query("path"));
  const file = await fileAtHost(c, claims, path);
  const answer = await send(c, file, LIMITS.fileBodyBytes);
  if (answer.status !== 200) throw await hostRefusal(answer, refused);
  return c.json(await receipt(answer, FileUploaded, file));
};

const refused = (detail: string): ApiError =>
  new ApiError("GuestRefused", "The file cannot be written there.", { detail });
