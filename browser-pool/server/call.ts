import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Log } from "@svc/host-kit/log.ts";
import type { Feeds } from "../observing/feeds.ts";
import type { ServedVersions } from "../playwrights/served-versions.ts";
import type { Session } from "../sessions/session.ts";
import type { Sessions } from "../sessions/sessions.ts";

/** A request of the gateway. */
export interface SlotCall {
  sessions: Sessions;
  feeds: Feeds;
  log: Log;
  served: ServedVersions;
  /** Of the session, or `drain`. */
  id: string;
  /** The org that the call is about. */
  org: string;
  request: IncomingMessage;
  response: ServerResponse;
}

/** A customer's upgrade, on its way to the browser of its session. */
export interface UpgradeCall {
  session: Session;
  log: Log;
  served: ServedVersions;
  request: IncomingMessage;
  socket: Socket;
  head: Buffer;
}
