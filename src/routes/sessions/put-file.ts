import { SessionFileName, SessionFileStored } from "@svc/contract/browser/session-file.ts";
import { ApiError } from "@svc/contract/errors.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import type { Handler } from "../../context.ts";
import { receipt, send } from "../files/upload.ts";
import { filesAtPool, subjectOf } from "./files-at-pool.ts";

export const putSessionFile: Handler = async (c) => {
  const name = c.req.param("name") ?? "";
  const file = await filesAtPool(c, subjectOf(c), name);
  const read = SessionFileName.safeParse(name);
  if (!read.success) {
    const text = `name: ${read.error.issues[0]?.message}`;
    throw new ApiError("ValidationError", text, { field: "name" });
  }
  const answer = await send(c, file, LIMITS.sessionFileBytes);
  if (answer.status !== 200) throw await file.refusal(answer);
  return c.json(await receipt(answer, SessionFileStored, file));
};
