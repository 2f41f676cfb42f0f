import {
  SessionStatus,
  type SessionList,
  type SessionRecord,
} from "@svc/contract/browser/session.ts";
import { LIMITS } from "@svc/contract/limits.ts";
import { logOf } from "@svc/contract/log.ts";
import { atMost } from "../../../durable-objects/live/deadline.ts";
import type { SessionLine, SessionQuery } from "../../../durable-objects/org/messages.ts";
import type { SessionView } from "../../../durable-objects/session/view.ts";
import { type AppContext, baseUrlOf, type Handler } from "../../context.ts";
import { reach } from "../../objects.ts";
import { pageLimit } from "../page.ts";
import { viewOfEnded, viewOfLine } from "./ended.ts";
import { recordOf } from "./record.ts";

const log = logOf("src");

/** Lists never refuse: values in the query that they do not understand are ignored (decisions). */
export const listSessions: Handler = async (c) => {
  const { wanted, ...page } = pageOf(c);
  const org = c.env.ORGS.getByName(c.get("caller").orgId);
  const { lines, nextCursor } = await reach(() => org.sessions(page));
  const records = await Promise.all(lines.map((line) => recordOfLine(c, line)));
  const sessions = records.filter((record) => record !== null);
  const body: SessionList = {
    sessions: sessions.filter(({ status }) => !wanted || status === wanted),
    ...(nextCursor && { nextCursor }),
  };
  return c.json(body);
};

function pageOf(c: AppContext): SessionQuery & { wanted: SessionStatus | null } {
  const wanted = SessionStatus.safeParse(c.req.query("status")).data ?? null;
  return {
    wanted,
    status: wanted === "active" || wanted === "unknown" ? "live" : wanted,
    limit: pageLimit(c),
    cursor: c.req.query("cursor") ?? null,
  };
}

/** An ended session is as its org knows it; of any other only its own object knows the truth. */
async function recordOfLine(c: AppContext, line: SessionLine): Promise<SessionRecord | null> {
  const view = line.ended ? viewOfEnded(c, line) : await viewOfLive(c, line);
  return view && recordOf(view, baseUrlOf(c), Date.now());
}

async function viewOfLive(c: AppContext, line: SessionLine): Promise<SessionView | null> {
  try {
    const reading = c.env.SESSIONS.getByName(line.id).read();
    return (await atMost(LIMITS.objectCallMs, reading)) ?? viewOfEnded(c, line);
  } catch (error) {
    // Listed as unknown: it still holds a slot, and here its owner sees that.
    log.error("session_unread", { requestId: c.get("requestId"), reason: error });
    return { ...viewOfLine(c, line), status: "away", closeReason: null };
  }
}
