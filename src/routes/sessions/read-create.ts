import { CreateSession } from "@svc/contract/browser/session.ts";
import { WIRE_VERSION_HEADER } from "@svc/contract/browser/wire-versions.ts";
import { ApiError } from "@svc/contract/errors.ts";
import { parseOptionalBody } from "../../body.ts";
import type { AppContext } from "../../context.ts";
import { checkUnlessPlanHelps } from "./rules.ts";

/** A create request with its defaults, and the wire version that its client names. */
export interface WantedSession extends CreateSession {
  /** The client's minor, such as `1.65`; null when it says nothing. */
  wireVersion: string | null;
}

/** Reads POST /sessions. Throws the first 400 of a shape. */
export async function readSession(c: AppContext): Promise<WantedSession> {
  const wanted = await parseOptionalBody(c, CreateSession);
  return { ...wanted, wireVersion: wireVersionOf(c) };
}

/** What is judged before the Idempotency-Key is looked at: shapes, and rules that are broken on every plan. */
export async function judgeSession(c: AppContext): Promise<void> {
  checkUnlessPlanHelps(await readSession(c), c.get("caller").plan);
}

function wireVersionOf(c: AppContext): string | null {
  const text = c.req.header(WIRE_VERSION_HEADER);
  if (text === undefined) return null;
  const minor = /^(\d{1,3}\.\d{1,4})(\.\d{1,4})?$/.exec(text)?.[1];
  if (minor !== undefined) return minor;
  const reason = `${WIRE_VERSION_HEADER}: a version such as 1.65`;
  throw new ApiError("ValidationError", reason, { field: WIRE_VERSION_HEADER });
}
