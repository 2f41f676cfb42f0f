import { SessionFileName, SessionFileStored } from "@svc/contract/browser/session-file.ts";
import { ApiError } from "@svc/contract/errors.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import type { AppContext } from "../../context.ts";
import { receipt, send } from "../files/send.ts";
import { filesAtPool } from "./files-at-pool.ts";

/** Makes the body of a request a file of a session. */
export async function storeFile(
  c: AppContext,
  session: { id: string; org: string },
  name: string,
): Promise<SessionFileStored> {
  const file = await filesAtPool(c, session, name);
  const read = SessionFileName.safeParse(name);
  if (!read.success) {
    const text = `name: ${read.error.issues[0]?.message}`;
    throw new ApiError("ValidationError", text, { field: "name" });
  }
  const answer = await send(c, file, LIMITS.sessionFileBytes);
  if (answer.status !== 200) throw await file.refusal(answer);
  return receipt(answer, SessionFileStored, file);
}
