import { PROXY_PORT } from "../launch/door.ts";
import type { ClientCall } from "../cdp/call.ts";
import type { Wire } from "../cdp/mux.ts";
import type { Failures } from "./failures.ts";
import type { Upstreams } from "./upstreams.ts";

/** Longer than the reply to any navigation. */
const REPLY_BYTES = 1_024;
/** Where the URL of a request begins at the latest, unless its document has a URL of unusual length. */
const HEAD_BYTES = 16_384;
const PARAMS_BYTES = 64 * 1024;
const KEPT_REQUESTS = 1_024;

/** What Chromium tells of each target that the forwarder does not reach, and of those that it refuses over TLS. */
const BEHIND_PROXY = /net::ERR_(?:SOCKS_CONNECTION_FAILED|SSL_UNRECOGNIZED_NAME_ALERT)/;
const REFUSED_TLS = "net::ERR_SSL_UNRECOGNIZED_NAME_ALERT";
const REFUSED = "net::ERR_BLOCKED_BY_ADMINISTRATOR";

const EVENT_HEAD = Buffer.from('{"method":"');
/** Within which an event of a request names the request. */
const ID_BYTES = 200;
const ADDRESS = '"remoteIPAddress":"127.';
const FORWARDER = new RegExp(`^"remoteIPAddress":"127\\.[\\d.]+","remotePort":${PROXY_PORT},`);

/**
 * Makes a browser behind the forwarder tell what one without a proxy tells: why a target is not reached, and no address
 * of the forwarder. Looks only into the few messages that can hold such things, and parses none.
 */
export class PlainWire implements Wire {
  readonly #failures: Failures;
  readonly #upstreams: Upstreams;
  /** The origins of requests, by id: an error tells only the id. */
  readonly #origins = new Map<string, string>();

  constructor({ failures, upstreams }: { failures: Failures; upstreams: Upstreams }) {
    this.#failures = failures;
    this.#upstreams = upstreams;
  }

  /** A call of a client, as the browser is to have it: proxies of contexts lead through the forwarder. */
  chained(call: ClientCall): ClientCall {
    if (call.method !== "Target.createBrowserContext") return call;
    const { rawParams, ...read } = call;
    const params = rawParams ? parsed(rawParams) : read.params;
    return params === undefined ? call : { ...read, params: this.#upstreams.chained(params) };
  }

  /** A message of the browser, as a client is to see it. */
  plain(bytes: Buffer): Buffer {
    if (!bytes.subarray(0, EVENT_HEAD.length).equals(EVENT_HEAD))
      return bytes.length <= REPLY_BYTES ? this.#withError(bytes, "loaderId") : bytes;
    const method = bytes
      .toString("latin1", EVENT_HEAD.length, EVENT_HEAD.length + 40)
      .split('"', 1)[0];
    if (method === "Network.requestWillBeSent") this.#note(bytes, '"request":{"url":"');
    if (method === "Network.webSocketCreated") this.#note(bytes, '"url":"');
    if (method === "Network.requestWillBeSent" || method === "Network.responseReceived")
      return withoutAddress(bytes);
    if (method === "Network.loadingFailed" || method === "Network.webSocketFrameError")
      return this.#withError(bytes, "requestId");
    return method === "Log.entryAdded" ? this.#withError(bytes, "networkRequestId") : bytes;
  }

  #note(bytes: Buffer, before: string): void {
    const at = bytes.subarray(0, HEAD_BYTES).indexOf(before);
    if (at < 0) return;
    const url = bytes.toString("latin1", at + before.length, at + before.length + 300);
    const origin = /^(?:https?|wss?):\/\/[^/?#"\\]+/.exec(url)?.[0];
    const id = idIn(bytes.toString("latin1", 0, ID_BYTES), "requestId");
    if (!origin || !id) return;
    this.#origins.delete(id);
    this.#origins.set(id, origin);
    const [oldest] = this.#origins.keys();
    if (this.#origins.size > KEPT_REQUESTS && oldest !== undefined) this.#origins.delete(oldest);
  }

  #withError(bytes: Buffer, idName: string): Buffer {
    if (!bytes.includes("net::ERR_S")) return bytes;
    const text = bytes.toString();
    const told = BEHIND_PROXY.exec(text)?.[0];
    if (!told) return bytes;
    const id = idIn(text, idName);
    const plain = this.#failures.textFor((id && this.#origins.get(id)) ?? null);
    if (!plain || (told === REFUSED_TLS && !plain.startsWith(REFUSED))) return bytes;
    return Buffer.from(text.replace(told, plain));
  }
}

/** Parameters of which only the JSON is at hand; longer ones than any context has are left alone: their proxy leads nowhere. */
function parsed(raw: Buffer[]): unknown {
  const bytes = Buffer.concat(raw);
  if (bytes.length > PARAMS_BYTES) return undefined;
  const params: unknown = JSON.parse(bytes.toString());
  return params;
}

// Written over with spaces, which mean nothing there: a response may be large, and its length stays.
function withoutAddress(bytes: Buffer): Buffer {
  for (let at = bytes.indexOf(ADDRESS); at >= 0; at = bytes.indexOf(ADDRESS, at + 1)) {
    const found = FORWARDER.exec(bytes.toString("latin1", at, at + 80))?.[0];
    if (found) bytes.fill(" ", at, at + found.length);
  }
  return bytes;
}

function idIn(text: string, name: string): string | null {
  return new RegExp(`"${name}":"([^"]+)"`).exec(text)?.[1] ?? null;
}
