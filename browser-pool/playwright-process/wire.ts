import { CLOSE_CODES } from "@svc/contract/close-codes.ts";
import { isObject } from "../cdp/envelope.ts";
import { IS_WIRE, replyToCdp } from "../cdp/wrong-endpoint.ts";
import { UnknownPlaywright } from "../playwrights/served-versions.ts";
import { callingCustomer } from "./client-contexts.ts";
import type { Playwright } from "./packages.ts";

/** How long a client has to read a reply: Puppeteer forgets the replies that it has yet to read when its socket closes. */
const READ_MS = 1_000;
const TRIGGERED = "locatorHandlerTriggered";

/**
 * Tells only the client that has registered a locator handler that the handler is to run. Playwright tells every client
 * of the page, and the first to answer ends the wait: clients without the handler, as the pool's own, answer at once.
 * Reaches into Playwright's insides, hence exact versions; throws `UnknownPlaywright` when they are not there.
 */
export function tellOwnHandlers(playwright: Playwright): void {
  const connection = connectionType(playwright);
  const { sendEvent } = connection;
  if (typeof sendEvent !== "function") throw new UnknownPlaywright();
  connection.sendEvent = function send(client: unknown, event: unknown, params: unknown): void {
    if (event !== TRIGGERED || hasHandler(client, params))
      sendEvent.call(this, client, event, params);
  };
}

/** Tells a client that speaks CDP where it is, and closes its socket soon after. */
export function refuseCdp(playwright: Playwright): void {
  const connection = connectionType(playwright);
  const { dispatch } = connection;
  if (typeof dispatch !== "function") throw new UnknownPlaywright();
  connection.dispatch = function heard(message: unknown): unknown {
    const stray = replyToCdp(message);
    if (!stray) return dispatch.call(this, message);
    const answer = isObject(this) ? this.onmessage : null;
    if (typeof answer === "function") answer(stray);
    const customer = callingCustomer();
    setTimeout(() => customer?.end(CLOSE_CODES.wrongEndpoint, IS_WIRE), READ_MS).unref();
  };
}

/** Has all messages to clients written anew by `write`. The pool's own client, connected already, hears them as they are. */
export function rewriteMessages(
  playwright: Playwright,
  write: (message: unknown) => unknown,
): void {
  const writers = new WeakMap<object, (message: unknown) => unknown>();
  Object.defineProperty(connectionType(playwright), "onmessage", {
    get(this: object) {
      return writers.get(this);
    },
    set(this: object, send: (message: unknown) => unknown) {
      writers.set(this, (message) => send(write(message)));
    },
  });
}

function hasHandler(client: unknown, params: unknown): boolean {
  const own = isObject(client) ? client._locatorHandlers : null;
  return own instanceof Set && isObject(params) && own.has(params.uid);
}

/** The prototype of the server ends of all connections to clients. */
function connectionType(playwright: Playwright): Record<string, unknown> {
  const own: unknown = Reflect.get(playwright.chromium, "_connection");
  const toImpl = isObject(own) ? own.toImpl : null;
  const root: unknown = typeof toImpl === "function" ? toImpl(null) : null;
  const connection = isObject(root) ? root.connection : null;
  const type: unknown = isObject(connection) ? Object.getPrototypeOf(connection) : null;
  if (!isObject(type)) throw new UnknownPlaywright();
  return type;
}
