// Chromium prints the id or the method first and a session's id last. Being the first and the last member
// they are of the top level, so that messages can be routed, and given another id, without being parsed.
const REPLY = /^\{"id":(\d+),/;
const EVENT = /^\{"method":"(\w+\.\w+)"/;
const SESSION = /^,"sessionId":"([0-9A-F]{32})"\}$/;
/** An event that names another session in its first parameter. */
const CHILD = /^\{"method":"\w+\.\w+","params":\{"sessionId":"([0-9A-F]{32})"/;
/** The length of what SESSION matches. */
export const SESSION_BYTES = 48;
/** The length in which the others match. */
export const HEAD_BYTES = 128;

/** Who a message is for. */
export interface Route {
  /** The id of the call that the message answers; null for an event. */
  id: number | null;
  method: string | null;
  sessionId: string | null;
}

/** The addressee of a message, as its first and its last bytes name it. */
export function routeBy(head: Buffer, tail: Buffer): Route {
  const text = head.toString("latin1");
  const id = REPLY.exec(text)?.[1];
  return {
    id: id === undefined ? null : Number(id),
    method: EVENT.exec(text)?.[1] ?? null,
    sessionId: SESSION.exec(tail.toString("latin1"))?.[1] ?? null,
  };
}

/** Whether a message begins as Chromium's do. */
export function beginsAsUsual(head: Buffer): boolean {
  const text = head.toString("latin1");
  return REPLY.test(text) || EVENT.test(text);
}

/** The session that an event names first in its parameters. */
export function childIn(head: Buffer): string | null {
  return CHILD.exec(head.toString("latin1"))?.[1] ?? null;
}
