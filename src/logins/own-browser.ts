import { Cdp } from "@svc/sdk/cdp.ts";
import type { CallOptions } from "@svc/sdk/http/deadline.ts";
import { OWN_URL } from "../../durable-objects/session/upgrade.ts";
import { insideSocket } from "../mcp/inside.ts";

/** The browser of a session, for the service itself: no customer sees the socket, and it keeps nothing alive. */
export function openOwnBrowser(env: Env, id: string, options: CallOptions): Promise<Cdp> {
  const object = env.SESSIONS.getByName(id);
  const send: typeof fetch = (_input, init) => object.fetch(OWN_URL, init);
  return Cdp.connect(OWN_URL.replace(/^http/, "ws"), { ...options, WebSocket: insideSocket(send) });
}
