import {
  SessionStatus,
  type SessionList,
  type SessionRecord,
} from "@svc/contract/browser/session.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import type { PageRequest, SessionLine } from "../../../durable-objects/org.ts";
import type { AppContext, Handler } from "../../context.ts";
import { recordOf } from "./record.ts";

/** Lists never refuse: what they do not understand in the query is ignored (decisions). */
export const listSessions: Handler = async (c) => {
  const { wanted, ...page } = pageOf(c);
  const org = c.env.ORGS.getByName(c.get("caller").orgId);
  const { lines, nextCursor } = await org.sessions(page);
  const records = await Promise.all(lines.map((line) => recordOfLine(c, line)));
  const sessions = records.filter((record) => record !== null);
  const body: SessionList = {
    sessions: sessions.filter(({ status }) => !wanted || status === wanted),
    ...(nextCursor && { nextCursor }),
  };
  return c.json(body);
};

function pageOf(c: AppContext): PageRequest & { wanted: SessionStatus | null } {
  const wanted = SessionStatus.safeParse(c.req.query("status")).data ?? null;
  const limit = Number.parseInt(c.req.query("limit") ?? "", 10) || LIMITS.pageDefault;
  return {
    wanted,
    status: wanted === "active" || wanted === "unknown" ? "live" : wanted,
    limit: Math.min(Math.max(limit, 1), LIMITS.pageMaximum),
    cursor: c.req.query("cursor") ?? null,
  };
}

/** An ended session is as its org knows it; of a live one only its own object knows the truth. */
async function recordOfLine(c: AppContext, line: SessionLine): Promise<SessionRecord | null> {
  const base = new URL(c.req.url).origin;
  const { id, browserKind: kind, createdAt, expiresAt, ended } = line;
  if (!ended) {
    const view = await c.env.SESSIONS.getByName(id).read();
    return view && recordOf(view, base, Date.now());
  }
  const { status, closeReason } = ended;
  const org = c.get("caller").orgId;
  return recordOf({ id, org, kind, createdAt, expiresAt, status, closeReason }, base, Date.now());
}
