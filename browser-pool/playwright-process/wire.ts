import { isObject } from "../cdp/envelope.ts";
import { UnknownPlaywright } from "../playwrights/served-versions.ts";
import type { Playwright } from "./packages.ts";

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

function hasHandler(client: unknown, params: unknown): boolean {
  const own = isObject(client) ? client._locatorHandlers : null;
  return own instanceof Set && isObject(params) && own.has(params.uid);
}

/** What the server ends of all connections to clients have in common. */
function connectionType(playwright: Playwright): Record<string, unknown> {
  const own: unknown = Reflect.get(playwright.chromium, "_connection");
  const toImpl = isObject(own) ? own.toImpl : null;
  const root: unknown = typeof toImpl === "function" ? toImpl(null) : null;
  const connection = isObject(root) ? root.connection : null;
  const type: unknown = isObject(connection) ? Object.getPrototypeOf(connection) : null;
  if (!isObject(type)) throw new UnknownPlaywright();
  return type;
}
