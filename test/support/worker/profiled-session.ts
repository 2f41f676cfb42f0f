import { SessionCreated } from "@svc/contract/browser/session.ts";
import { call, json } from "./gateway.ts";

/** Creates a session that begins with a profile, and answers its id. */
export async function profiledSession(key: string, profileId: string): Promise<string> {
  const response = await call("/sessions", { ...json({ profileId }), bearer: key });
  return SessionCreated.parse(await response.json()).sessionId;
}
