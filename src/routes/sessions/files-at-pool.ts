import { ApiError, isApiError } from "@svc/contract/errors.ts";
import {
  SLOT_FILE_HEADER,
  type SlotFile,
  SlotFileRefusal,
  SlotFiles,
} from "@svc/contract/host-protocol/slot-files.ts";
import type { SessionFile } from "@svc/contract/browser/session-file.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { logOf } from "@svc/contract/log.ts";
import { mintFileToken } from "@svc/contract/tokens.ts";
import { hostBearer, hostUrl } from "../../../durable-objects/host-calls/slots.ts";
import { within } from "../../../durable-objects/live/deadline.ts";
import { accepted } from "../../accepted.ts";
import { type AppContext, baseUrlOf } from "../../context.ts";
import type { FileAtHost } from "../files/machine.ts";
import { invalidSessionId, ownedSession } from "./owned.ts";

const log = logOf("src");

const unreachable = (): ApiError =>
  new ApiError("PoolUnreachable", "The session's browser pool cannot be reached. Try again.");

const REFUSALS: Record<SlotFileRefusal, () => ApiError> = {
  missing: () => new ApiError("NotFound", "There is no such file."),
  ended: () => new ApiError("NotRunning", "The session has ended, and what it had is gone."),
  inProgress: () => new ApiError("FileInProgress", "The download is not whole yet. Try again."),
  tooLarge: () => {
    const limit = LIMITS.sessionFileBytes;
    const text = `Files above ${limit} bytes are not kept: a client of /ws has its own downloads whole.`;
    return new ApiError("PayloadTooLarge", text, { limit });
  },
  overQuota: () => {
    const limit = LIMITS.sessionFilesBytes;
    const text = `The files of a session are at most ${LIMITS.sessionFiles}, of ${limit} bytes together: use another session for more.`;
    return new ApiError("SessionFilesFull", text, { limit });
  },
  busy: () =>
    new ApiError("PoolUnreachable", "Too many files of the session are on their way. Try again."),
};

/** Finds the pool of a session, of the caller or of a signed URL. The object is asked once; bytes pass the Worker alone. */
export async function filesAtPool(
  c: AppContext,
  { id, org }: { id: string; org: string },
  name?: string,
): Promise<FileAtHost> {
  const session = await ownedSession(c, org, id);
  const place = await session.ask((object) => object.locate());
  if (!place) throw invalidSessionId();
  const url = hostUrl(accepted(place).url, "slots", id, "files");
  if (name !== undefined) url.searchParams.set("name", name);
  const authorization = `Bearer ${await hostBearer(c.env, { id, org })}`;
  return { url, headers: { authorization }, refusal, unreachable };
}

/** What a pool's refusal means. */
async function refusal(answer: Response): Promise<ApiError> {
  await answer.body?.cancel();
  const why = SlotFileRefusal.safeParse(answer.headers.get(SLOT_FILE_HEADER)).data;
  if (why) return REFUSALS[why]();
  if (answer.status === 404) return REFUSALS.ended();
  log.warn("host_refused", { call: "/slots/:id/files", status: answer.status });
  return unreachable();
}

/** The files of the caller's session as its pool has them. */
export async function listFiles(c: AppContext): Promise<SlotFile[]> {
  const { url, headers } = await filesAtPool(c, subjectOf(c));
  try {
    return await within(LIMITS.hostCallMs, async (signal) => {
      const answer = await fetch(url, { headers, signal, redirect: "manual" });
      if (answer.status !== 200) throw await refusal(answer);
      return SlotFiles.parse(await answer.json()).files;
    });
  } catch (error) {
    if (isApiError(error)) throw error;
    log.warn("host_call_failed", { call: "GET /slots/:id/files", reason: error });
    throw unreachable();
  }
}

/** The session of the path, as the caller's. */
export const subjectOf = (c: AppContext): { id: string; org: string } => ({
  id: c.req.param("id") ?? "",
  org: c.get("caller").orgId,
});

/** A file as its owner sees it. The URL of its bytes does not tell the id of the session, which opens /ws and /cdp. */
export async function shownFile(c: AppContext, file: SlotFile): Promise<SessionFile> {
  const { at, ...told } = file;
  const shown = { ...told, createdAt: new Date(at).toISOString() };
  if (file.state !== "complete") return shown;
  const expiresAt = Date.now() + LIMITS.fileUrlMs;
  const claims = { ...subjectOf(c), of: "session", mode: "download", path: file.name } as const;
  const token = await mintFileToken(c.env.SVC_SIGNING_SECRET, { ...claims, expiresAt });
  const url = `${baseUrlOf(c)}/files/download?token=${token}`;
  return { ...shown, url, urlExpiresAt: new Date(expiresAt).toISOString() };
}
