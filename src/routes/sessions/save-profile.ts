import { SaveSessionProfile, type SessionProfileSaved } from "@svc/contract/browser/profile.ts";
import { ApiError, isApiError } from "@svc/contract/errors.ts";
import { STATE_LOST_HEADER } from "@svc/contract/host-protocol/slots.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { logOf } from "@svc/contract/log.ts";
import type * as z from "zod";
import {
  saveProfile,
  type StateToStore,
  writableRow,
} from "../../../control-plane/profile-versions.ts";
import { createProfile, profileNamed } from "../../../control-plane/profiles.ts";
import { hostBearer, hostUrl } from "../../../durable-objects/host-calls/slots.ts";
import { within } from "../../../durable-objects/live/deadline.ts";
import { accepted } from "../../accepted.ts";
import { parseBody } from "../../body.ts";
import type { AppContext, Handler } from "../../context.ts";
import { storesOf, writeOf } from "../profiles/write.ts";
import { subjectOf } from "./files-at-pool.ts";
import { invalidSessionId, type OwnedSession, ownedSession } from "./owned.ts";

const log = logOf("src");

type Wish = z.infer<typeof SaveSessionProfile>;

/** The profile that a request names. */
export const readSave = (c: AppContext): Promise<Wish> => parseBody(c, SaveSessionProfile);

export const saveSessionProfile: Handler = async (c) => {
  const session = await ownedSession(c);
  return c.json(await saveLive(c, session, await readSave(c)));
};

/** Saves the live browser of a session as the next version of a profile. */
export async function saveLive(
  c: AppContext,
  session: OwnedSession,
  { profileId, name, lease: shown }: Wish,
): Promise<SessionProfileSaved> {
  const lease = shown ?? null;
  const found = await session.ask((object) => object.locate());
  if (!found) throw invalidSessionId();
  const { url, profileId: own } = accepted(found);
  const { orgId } = c.get("caller");
  const known = name === undefined ? (profileId ?? own) : await profileNamed(c.env.DB, orgId, name);
  if (known === null && name === undefined) throw noProfile();
  // What is refused is refused before the browser is asked.
  if (known !== null) await writableRow(c.env.DB, { orgId, id: known, lease }, Date.now());
  return withState(c, url, async ({ lost, ...state }): Promise<SessionProfileSaved> => {
    const id = known ?? (await newProfile(c, name ?? ""));
    return { ...(await saveProfile(storesOf(c), writeOf(c, id, lease), state, Date.now())), lost };
  });
}

function noProfile(): ApiError {
  const text = "profileId: the session began with no profile; say which one, or a name";
  return new ApiError("ValidationError", text, { field: "profileId" });
}

async function newProfile(c: AppContext, name: string): Promise<string> {
  const { orgId, planName, plan } = c.get("caller");
  const org = { orgId, plan: planName, cap: plan.profiles };
  return (await createProfile(c.env.DB, org, name, Date.now())).id;
}

/** The state of a browser on its way to the store, and how many entries are not in it. */
interface State extends StateToStore {
  lost: number;
}

/** Works with the state of the session's browser, which its pool has whole: it passes the Worker as it comes. */
async function withState<Result>(
  c: AppContext,
  url: string,
  work: (state: State) => Promise<Result>,
): Promise<Result> {
  const subject = subjectOf(c);
  const headers = { authorization: `Bearer ${await hostBearer(c.env, subject)}` };
  const init = { method: "POST", headers, redirect: "manual" } as const;
  const ms = LIMITS.profileReadMs + LIMITS.hostAnswerMs;
  try {
    return await within(ms, async (signal) => {
      const answer = await fetch(hostUrl(url, "slots", subject.id, "state"), { ...init, signal });
      const { body, status } = answer;
      if (status !== 200 || !body) throw refusalOf(status);
      const sizeBytes = Number(answer.headers.get("content-length"));
      return work({ body, sizeBytes, lost: Number(answer.headers.get(STATE_LOST_HEADER)) });
    });
  } catch (error) {
    if (isApiError(error)) throw error;
    log.warn("host_call_failed", { call: "POST /slots/:id/state", reason: error });
    throw refusalOf(503);
  }
}

function refusalOf(status: number): ApiError {
  const limit = LIMITS.profileStateBytes;
  if (status === 404)
    return new ApiError("NotRunning", "The session has ended, and what it had is gone.");
  if (status === 413)
    return new ApiError("PayloadTooLarge", `The state is above ${limit} bytes.`, { limit });
  if (status === 502)
    return new ApiError("ProfileUnavailable", "The browser did not tell its state. Try again.");
  return new ApiError(
    "PoolUnreachable",
    "The session's browser pool cannot be reached. Try again.",
  );
}
